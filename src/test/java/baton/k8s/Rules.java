package baton.k8s;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What an API server accepts and is wrong all the same, in documents that are applied together. One
 * sentence for each problem, which names document and field.
 */
final class Rules {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final List<JsonNode> documents;
  private final List<String> found = new ArrayList<>();

  private Rules(List<JsonNode> documents) {
    this.documents = documents;
  }

  static List<String> problems(List<JsonNode> documents) {
    Rules rules = new Rules(documents);
    Set<String> names = new HashSet<>();
    for (JsonNode document : documents) {
      if (!names.add(document.path("apiVersion").asText() + name(document))) {
        rules.add(document, "metadata.name", "there are two of them");
      }
      rules.check(document);
    }
    return rules.found;
  }

  /** Kind and name, as kubectl writes them. */
  static String name(JsonNode document) {
    return document.path("kind").asText() + "/" + document.at("/metadata/name").asText();
  }

  /** The template of the pods that a document brings, or null. */
  static JsonNode pod(JsonNode document) {
    JsonNode pod = document.at("/spec/template");
    return pod.at("/spec/containers").isArray() ? pod : null;
  }

  private void add(JsonNode document, String field, String sentence) {
    found.add(name(document) + ": " + field + ": " + sentence);
  }

  private void expect(boolean holds, JsonNode document, String field, String sentence) {
    if (!holds) {
      add(document, field, sentence);
    }
  }

  private void check(JsonNode document) {
    if (pod(document) != null) {
      found.addAll(PodRules.problems(document, documents));
    }
    JsonNode spec = document.path("spec");
    switch (document.path("kind").asText()) {
      case "Deployment" -> {
        JsonNode selector = spec.at("/selector/matchLabels");
        expect(
            matches(selector, pod(document)),
            document,
            "spec.selector",
            "matches no labels of its template");
      }
      case "Service" -> {
        if (pod(document) == null) {
          selected(document, "spec.selector", spec.get("selector"))
              .forEach(pod -> checkPorts(document, "spec.ports", spec, "targetPort", pod));
        }
      }
      case "PodDisruptionBudget" ->
          selected(document, "spec.selector", spec.at("/selector/matchLabels"));
      case "NetworkPolicy" -> {
        List<JsonNode> pods =
            selected(document, "spec.podSelector", spec.at("/podSelector/matchLabels"));
        for (JsonNode rule : spec.path("ingress")) {
          pods.forEach(pod -> checkPorts(document, "spec.ingress.ports", rule, "port", pod));
        }
        checkEgress(document);
      }
      case "HorizontalPodAutoscaler" -> checkTarget(document);
      case "ServiceMonitor" -> checkMonitor(document);
      case "ConfigMap" -> checkJson(document);
      default -> {
        // Nothing to be said beyond the schema.
      }
    }
  }

  private List<JsonNode> selected(JsonNode document, String field, JsonNode selector) {
    List<JsonNode> pods =
        documents.stream().map(Rules::pod).filter(pod -> matches(selector, pod)).toList();
    expect(!pods.isEmpty(), document, field, "matches no pods");
    return pods;
  }

  static boolean matches(JsonNode selector, JsonNode labelled) {
    if (labelled == null || selector == null || selector.isEmpty()) {
      return false;
    }
    JsonNode labels = labelled.at("/metadata/labels");
    return selector.properties().stream()
        .allMatch(s -> s.getValue().equals(labels.get(s.getKey())));
  }

  private void checkPorts(
      JsonNode document, String field, JsonNode owner, String key, JsonNode pod) {
    for (JsonNode port : owner.path("ports")) {
      expect(opens(pod, port.path(key)), document, field, "no container opens " + port.path(key));
    }
  }

  static boolean opens(JsonNode pod, JsonNode port) {
    for (JsonNode container : pod.at("/spec/containers")) {
      for (JsonNode open : container.path("ports")) {
        if (open.path("name").equals(port) || open.path("containerPort").equals(port)) {
          return true;
        }
      }
    }
    return false;
  }

  private void checkEgress(JsonNode document) {
    for (JsonNode block : document.at("/spec/egress").findValues("ipBlock")) {
      String linkLocal = block.path("cidr").asText().contains(":") ? "fe80::/10" : "169.254.0.0/16";
      expect(
          block.path("except").toString().contains('"' + linkLocal + '"'),
          document,
          "spec.egress.to",
          block.path("cidr") + " reaches " + linkLocal);
    }
  }

  private void checkTarget(JsonNode document) {
    JsonNode target = document.at("/spec/scaleTargetRef");
    String wanted = target.path("kind").asText() + "/" + target.path("name").asText();
    List<JsonNode> scaled = documents.stream().filter(d -> name(d).equals(wanted)).toList();
    expect(!scaled.isEmpty(), document, "spec.scaleTargetRef", "there is no " + wanted);
    for (JsonNode workload : scaled) {
      expect(
          !workload.path("spec").has("replicas"),
          workload,
          "spec.replicas",
          "is " + name(document) + "'s to set");
    }
  }

  private void checkMonitor(JsonNode document) {
    JsonNode selector = document.at("/spec/selector/matchLabels");
    List<JsonNode> services =
        documents.stream()
            .filter(d -> d.path("kind").asText().equals("Service") && matches(selector, d))
            .toList();
    expect(!services.isEmpty(), document, "spec.selector", "matches no Service");
    for (JsonNode endpoint : document.at("/spec/endpoints")) {
      expect(
          endpoint.path("path").asText().equals("/q/metrics"),
          document,
          "spec.endpoints.path",
          "the metrics are at /q/metrics");
      for (JsonNode service : services) {
        expect(
            service.at("/spec/ports").findValues("name").contains(endpoint.get("port")),
            document,
            "spec.endpoints.port",
            name(service) + " has no port " + endpoint.get("port"));
      }
    }
  }

  private void checkJson(JsonNode document) {
    for (Map.Entry<String, JsonNode> file : document.path("data").properties()) {
      String field = "data." + file.getKey();
      try {
        JsonNode json = JSON.readTree(file.getValue().asText());
        if (file.getKey().equals("conductor_config.json")) {
          expect(json.path("kvevent_instance").isObject(), document, field, "no kvevent_instance");
        } else {
          checkDashboard(document, field, json);
        }
      } catch (JsonProcessingException e) {
        add(document, field, "is no JSON: " + e.getOriginalMessage());
      }
    }
  }

  private void checkDashboard(JsonNode document, String field, JsonNode dashboard) {
    expect(!dashboard.path("panels").isEmpty(), document, field, "a dashboard without panels");
    Set<JsonNode> ids = new HashSet<>();
    for (JsonNode panel : dashboard.path("panels")) {
      String title = panel.path("title").toString();
      expect(ids.add(panel.get("id")), document, field, title + " has another panel's id");
      boolean asks =
          panel.path("targets").findValues("expr").stream().anyMatch(e -> !e.asText().isBlank());
      expect(
          asks || panel.path("type").asText().equals("row"),
          document,
          field,
          title + " has no query");
    }
  }
}
