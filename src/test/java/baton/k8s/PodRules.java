package baton.k8s;

import baton.config.BatonConfig;
import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The {@link Rules} of a pod: what it may do, how it is asked for its health, what it is told. */
final class PodRules {
  private static final Map<String, String> PROBES =
      Map.of(
          "startupProbe", "/q/health/started",
          "readinessProbe", "/q/health/ready",
          "livenessProbe", "/q/health/live");

  private static final Set<String> VARIABLES = variables();

  /** What Knative passes on to a pod when none of its feature flags is set. */
  private static final Set<String> OF_KNATIVE =
      Set.of(
          "serviceAccountName",
          "enableServiceLinks",
          "timeoutSeconds",
          "containerConcurrency",
          "containers",
          "volumes",
          "imagePullSecrets");

  private final JsonNode document;
  private final List<JsonNode> documents;
  private final JsonNode pod;
  private final List<String> found = new ArrayList<>();

  private PodRules(JsonNode document, List<JsonNode> documents) {
    this.document = document;
    this.documents = documents;
    this.pod = Rules.pod(document);
  }

  static List<String> problems(JsonNode document, List<JsonNode> documents) {
    PodRules rules = new PodRules(document, documents);
    rules.checkPod();
    return rules.found;
  }

  private void expect(boolean holds, String field, String sentence) {
    if (!holds) {
      found.add(Rules.name(document) + ": " + field + ": " + sentence);
    }
  }

  private void checkPod() {
    JsonNode spec = pod.get("spec");
    if (document.path("apiVersion").asText().startsWith("serving.knative.dev/")) {
      spec.fieldNames()
          .forEachRemaining(
              field ->
                  expect(
                      OF_KNATIVE.contains(field),
                      "spec.template.spec." + field,
                      "Knative takes it only with a feature flag"));
      expect(
          spec.at("/containers/0/ports").size() == 1,
          "spec.template.spec.containers[0].ports",
          "Knative serves one port");
    }
    expect(
        documents.stream()
            .filter(
                d ->
                    Rules.name(d)
                        .equals("ServiceAccount/" + spec.path("serviceAccountName").asText()))
            .anyMatch(d -> isFalse(d.get("automountServiceAccountToken"))),
        "spec.template.spec.serviceAccountName",
        "no account of this name that mounts no token");
    for (JsonNode spread : spec.path("topologySpreadConstraints")) {
      expect(
          Rules.matches(spread.at("/labelSelector/matchLabels"), pod),
          "spec.template.spec.topologySpreadConstraints",
          "does not match the pod itself");
    }
    Set<String> volumes = new HashSet<>();
    for (JsonNode volume : spec.path("volumes")) {
      volumes.add(volume.path("name").asText());
      String map = volume.at("/configMap/name").asText();
      expect(
          map.isEmpty()
              || documents.stream().anyMatch(d -> Rules.name(d).equals("ConfigMap/" + map)),
          "spec.template.spec.volumes",
          "there is no ConfigMap " + map);
    }
    int i = 0;
    for (JsonNode container : spec.get("containers")) {
      String field = "spec.template.spec.containers[" + i++ + "].";
      checkContainer(field, container);
      checkSecurity(field, container.path("securityContext"));
      for (JsonNode mount : container.path("volumeMounts")) {
        expect(
            volumes.contains(mount.path("name").asText()),
            field + "volumeMounts",
            "there is no volume " + mount.path("name"));
        expect(!mount.has("subPath"), field + "volumeMounts", "a subPath never changes");
      }
    }
  }

  private void checkContainer(String field, JsonNode container) {
    PROBES.forEach(
        (name, path) -> {
          JsonNode get = container.path(name).path("httpGet");
          if (get.isMissingNode()) {
            return;
          }
          expect(get.path("path").asText().equals(path), field + name, "Baton answers at " + path);
          // Knative: 0 is the container's only port.
          boolean only = get.path("port").isInt() && get.path("port").asInt() == 0;
          expect(
              only || Rules.opens(pod, get.get("port")),
              field + name,
              "no container opens " + get.get("port"));
        });
    for (String needed : List.of("readinessProbe", "livenessProbe")) {
      expect(container.has(needed), field + needed, "missing");
    }
    Set<String> names = new HashSet<>();
    for (JsonNode variable : container.path("env")) {
      String name = variable.path("name").asText();
      expect(names.add(name), field + "env", name + " is there twice");
      expect(VARIABLES.contains(name), field + "env", "Baton reads no " + name);
      if (name.equals("QUARKUS_SHUTDOWN_DELAY")) {
        int delay = Integer.parseInt(variable.path("value").asText().replace("S", ""));
        expect(
            pod.at("/spec/terminationGracePeriodSeconds").asInt() > delay + 10,
            "spec.template.spec.terminationGracePeriodSeconds",
            "is too short for its delay of " + delay + " s and the requests in flight");
      }
    }
    for (String needed : List.of("/requests/cpu", "/requests/memory", "/limits/memory")) {
      expect(
          !container.path("resources").at(needed).isMissingNode(),
          field + "resources" + needed.replace('/', '.'),
          "missing");
    }
  }

  private void checkSecurity(String field, JsonNode own) {
    String at = field + "securityContext.";
    JsonNode all = pod.at("/spec/securityContext");
    expect(either(own, all, "runAsUser").asInt() > 0, at + "runAsUser", "is root, or none");
    expect(either(own, all, "runAsNonRoot").asBoolean(), at + "runAsNonRoot", "is not true");
    expect(
        either(own, all, "seccompProfile").path("type").asText().equals("RuntimeDefault"),
        at + "seccompProfile",
        "is not RuntimeDefault");
    expect(
        own.path("readOnlyRootFilesystem").asBoolean(),
        at + "readOnlyRootFilesystem",
        "is not true");
    expect(
        isFalse(own.get("allowPrivilegeEscalation")) && !own.path("privileged").asBoolean(),
        at + "allowPrivilegeEscalation",
        "is not false");
    expect(
        own.at("/capabilities/drop/0").asText().equals("ALL")
            && own.get("capabilities").size() == 1,
        at + "capabilities",
        "are not all dropped");
  }

  /** A container's own setting, or that of its pod. */
  private static JsonNode either(JsonNode own, JsonNode all, String name) {
    return own.has(name) ? own.get(name) : all.path(name);
  }

  private static boolean isFalse(JsonNode node) {
    return node != null && node.isBoolean() && !node.asBoolean();
  }

  /** What Baton reads from its environment. */
  private static Set<String> variables() {
    Set<String> names =
        new TreeSet<>(
            Set.of(
                "CONDUCTOR_CONFIG_PATH",
                "CONDUCTOR_LOG_LEVEL",
                "SG_PROMPT_EMBEDS_CACHE_GIB",
                "QUARKUS_SHUTDOWN_DELAY",
                "QUARKUS_SHUTDOWN_TIMEOUT"));
    addVariables("BATON", BatonConfig.class, names);
    return names;
  }

  private static void addVariables(String prefix, Class<?> keys, Set<String> names) {
    for (Method key : keys.getMethods()) {
      String name =
          prefix + "_" + key.getName().replaceAll("([A-Z])", "_$1").toUpperCase(Locale.ROOT);
      if (key.getReturnType().getEnclosingClass() == BatonConfig.class
          && key.getReturnType().isInterface()) {
        addVariables(name, key.getReturnType(), names);
      } else {
        names.add(name);
      }
    }
  }
}
