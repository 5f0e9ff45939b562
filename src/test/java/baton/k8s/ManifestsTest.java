package baton.k8s;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What is rendered from {@code k8s/} is accepted, and what is broken in it is refused. */
class ManifestsTest {
  private static final Schema SCHEMA = new Schema();

  @BeforeAll
  static void needsKubectl() {
    Kubectl.require();
  }

  private static List<String> problems(List<JsonNode> documents) {
    List<String> problems = new ArrayList<>();
    documents.forEach(document -> problems.addAll(SCHEMA.problems(document)));
    problems.addAll(Rules.problems(documents));
    return problems;
  }

  static List<String> overlays() {
    return Kubectl.applicable();
  }

  @ParameterizedTest
  @MethodSource("overlays")
  void manifests_rendered_areAccepted(String overlay) {
    List<JsonNode> documents = Kubectl.render(overlay);
    assertThat(problems(documents)).isEmpty();
    // Without a hash: a change reaches the replicas that run.
    assertThat(documents).extracting(Rules::name).contains("ConfigMap/baton-config");
  }

  @Test
  void images_areOfThisVersion() throws IOException {
    Matcher version =
        Pattern.compile("<version>(.*)</version>").matcher(Files.readString(Path.of("pom.xml")));
    assertThat(version.find()).isTrue();
    assertThat(image("base")).isEqualTo("baton:" + version.group(1));
    assertThat(image("overlays/knative")).isEqualTo("baton:" + version.group(1));
    assertThat(image("overlays/jvm")).isEqualTo("baton:" + version.group(1) + "-jvm");
  }

  private static String image(String overlay) {
    return Kubectl.render(overlay).stream()
        .map(Rules::pod)
        .filter(pod -> pod != null)
        .map(pod -> pod.at("/spec/containers/0/image").asText())
        .findFirst()
        .orElseThrow();
  }

  /** One mistake: in which overlay, document and node, and what is said of it. */
  private static Arguments mistake(
      String overlay, String document, String node, Consumer<ObjectNode> edit, String problem) {
    return Arguments.of(overlay, document, node, edit, document + ": " + problem);
  }

  private static Arguments inBase(
      String document, String node, Consumer<ObjectNode> edit, String problem) {
    return mistake("base", document, node, edit, problem);
  }

  static Stream<Arguments> mistakes() {
    String deployment = "Deployment/baton";
    String container = "/spec/template/spec/containers/0";
    String at = "spec.template.spec.containers[0].";
    return Stream.of(
        // What an API server would refuse.
        inBase(deployment, "", d -> d.put("extra", 1), "extra: unknown field"),
        inBase(deployment, container, c -> c.put("imagee", "x"), at + "imagee: unknown field"),
        inBase(deployment, container, c -> c.remove("name"), at + "name: missing"),
        inBase(deployment, "/spec", s -> s.put("replicas", "3"), "spec.replicas: \"3\" is not"),
        inBase(
            deployment,
            container + "/env/0",
            e -> e.put("value", 1),
            at + "env[0].value: 1 is not a string"),
        inBase(
            deployment,
            container + "/resources/limits",
            l -> l.put("memory", "2 GiB"),
            at + "resources.limits.memory: \"2 GiB\" is not a quantity"),
        inBase(
            deployment, container, c -> c.put("ports", 13333), at + "ports: 13333 is not a list"),
        inBase(deployment, "", d -> d.remove("spec"), "spec.selector: matches no labels"),
        inBase(
            "NetworkPolicy/baton-egress",
            "/spec/egress/0/ports/0",
            p -> p.put("protocol", "ICMP"),
            "spec.egress[0].ports[0].protocol: \"ICMP\" is not one of"),
        inBase(
            "PodDisruptionBudget/baton",
            "",
            d -> d.put("apiVersion", "policy/v9"),
            "kind: policy/v9/PodDisruptionBudget is none"),
        Arguments.of(
            "base",
            deployment,
            "",
            (Consumer<ObjectNode>) d -> d.put("kind", "Deploymint"),
            "Deploymint/baton: kind: apps/v1/Deploymint is none"),
        mistake(
            "overlays/autoscale",
            "HorizontalPodAutoscaler/baton",
            "/spec",
            s -> s.remove("maxReplicas"),
            "spec.maxReplicas: missing"),
        mistake(
            "overlays/monitoring",
            "ServiceMonitor/baton",
            "/spec/endpoints/0",
            e -> e.put("intervall", "15s"),
            "spec.endpoints[0].intervall: unknown field"),
        mistake(
            "overlays/monitoring",
            "PrometheusRule/baton",
            "/spec/groups/0/rules/0",
            r -> r.remove("expr"),
            "spec.groups[0].rules[0].expr: missing"),
        mistake(
            "overlays/knative",
            "Service/baton",
            "/spec/template/spec",
            s -> s.put("timeout", 30),
            "spec.template.spec.timeout: Unrecognized field"),
        mistake(
            "overlays/knative",
            "Service/baton",
            container + "/resources",
            r -> r.put("limit", "1"),
            at + "resources.limit: Unrecognized field"),
        mistake(
            "overlays/knative",
            "Service/baton",
            container,
            c -> c.remove("name"),
            at + "name: missing"),
        // What it would accept.
        inBase(
            "Service/baton",
            "/spec/selector",
            s -> s.put("app.kubernetes.io/name", "batton"),
            "spec.selector: matches no pods"),
        inBase(
            "PodDisruptionBudget/baton",
            "/spec/selector/matchLabels",
            s -> s.put("tier", "x"),
            "spec.selector: matches no pods"),
        inBase(
            "NetworkPolicy/baton-ingress",
            "/spec/ingress/0/ports/1",
            p -> p.put("port", "grpc"),
            "spec.ingress.ports: no container opens \"grpc\""),
        inBase(
            "Service/baton",
            "/spec/ports/1",
            p -> p.put("targetPort", 13335),
            "spec.ports: no container opens 13335"),
        inBase(
            deployment,
            container + "/livenessProbe/httpGet",
            g -> g.put("port", "web"),
            at + "livenessProbe: no container opens \"web\""),
        inBase(
            deployment,
            container + "/readinessProbe/httpGet",
            g -> g.put("path", "/q/health/live"),
            at + "readinessProbe: Baton answers at /q/health/ready"),
        inBase(
            deployment,
            container + "/env/0",
            e -> e.put("name", "BATON_RPC_PROT"),
            at + "env: Baton reads no BATON_RPC_PROT"),
        inBase(
            deployment,
            "/spec/template/spec",
            s -> s.put("terminationGracePeriodSeconds", 15),
            "spec.template.spec.terminationGracePeriodSeconds: is too short"),
        inBase(
            "NetworkPolicy/baton-egress",
            "/spec/egress/0/to/1/ipBlock",
            b -> b.remove("except"),
            "spec.egress.to: \"0.0.0.0/0\" reaches 169.254.0.0/16"),
        inBase(
            deployment,
            container + "/volumeMounts/0",
            m -> m.put("subPath", "conductor_config.json"),
            at + "volumeMounts: a subPath never changes"),
        inBase(
            deployment,
            container + "/volumeMounts/1",
            m -> m.put("name", "temp"),
            at + "volumeMounts: there is no volume \"temp\""),
        inBase(
            deployment,
            "/spec/template/spec/securityContext",
            s -> s.put("runAsUser", 0),
            at + "securityContext.runAsUser: is root, or none"),
        inBase(
            deployment,
            container + "/securityContext",
            s -> s.put("readOnlyRootFilesystem", false),
            at + "securityContext.readOnlyRootFilesystem: is not true"),
        Arguments.of(
            "base",
            "ServiceAccount/baton",
            "",
            (Consumer<ObjectNode>) a -> a.remove("automountServiceAccountToken"),
            deployment + ": spec.template.spec.serviceAccountName: no account"),
        inBase(
            "ConfigMap/baton-config",
            "/data",
            d -> d.put("conductor_config.json", "{"),
            "data.conductor_config.json: is no JSON"),
        mistake(
            "overlays/autoscale",
            "HorizontalPodAutoscaler/baton",
            "/spec/scaleTargetRef",
            t -> t.put("name", "bat"),
            "spec.scaleTargetRef: there is no Deployment/bat"),
        mistake(
            "overlays/monitoring",
            "ConfigMap/baton-dashboard",
            "/data",
            d -> d.put("baton.json", "{\"panels\":[{\"id\":1,\"title\":\"Blocks\"}]}"),
            "data.baton.json: \"Blocks\" has no query"),
        mistake(
            "overlays/knative",
            "Service/baton",
            container + "/ports/0",
            p -> p.put("containerPort", "x"),
            at + "ports[0].containerPort: "),
        mistake(
            "overlays/knative",
            "Service/baton",
            "/spec/template/spec",
            s -> s.put("terminationGracePeriodSeconds", 30),
            "spec.template.spec.terminationGracePeriodSeconds: Knative takes it only"),
        mistake(
            "overlays/monitoring",
            "ServiceMonitor/baton",
            "/spec/endpoints/0",
            e -> e.put("port", "metrics"),
            "spec.endpoints.port: Service/baton has no port \"metrics\""));
  }

  @ParameterizedTest(name = "{4}")
  @MethodSource("mistakes")
  void mistake_inAGoodManifest_isNamed(
      String overlay, String document, String node, Consumer<ObjectNode> edit, String problem) {
    List<JsonNode> documents = Kubectl.render(overlay);
    JsonNode edited =
        documents.stream().filter(d -> Rules.name(d).equals(document)).findFirst().orElseThrow();
    edit.accept((ObjectNode) edited.at(node));
    assertThat(problems(documents)).anyMatch(found -> found.startsWith(problem));
  }
}
