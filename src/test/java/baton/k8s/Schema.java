package baton.k8s;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fabric8.knative.serving.v1.Service;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * What an API server would refuse, by the OpenAPI description of Kubernetes' own kinds and of the
 * Prometheus operator's: fields it does not know at any depth, fields that are missing, and values
 * of another type. Knative's Service is not in it: that is read strictly into its Java model, and
 * the pod inside, of which it is made, checked like any other.
 */
final class Schema {
  private static final String KNATIVE = "serving.knative.dev/v1/Service";
  private static final String POD_SPEC = "io.k8s.api.core.v1.PodSpec";

  /** The kinds in use, and where each is described. */
  private static final Map<String, String> KINDS =
      Map.of(
          "v1/ConfigMap", "io.k8s.api.core.v1.ConfigMap",
          "v1/Service", "io.k8s.api.core.v1.Service",
          "v1/ServiceAccount", "io.k8s.api.core.v1.ServiceAccount",
          "apps/v1/Deployment", "io.k8s.api.apps.v1.Deployment",
          "autoscaling/v2/HorizontalPodAutoscaler",
              "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
          "networking.k8s.io/v1/NetworkPolicy", "io.k8s.api.networking.v1.NetworkPolicy",
          "policy/v1/PodDisruptionBudget", "io.k8s.api.policy.v1.PodDisruptionBudget",
          "monitoring.coreos.com/v1/PrometheusRule", "com.coreos.monitoring.v1.PrometheusRule",
          "monitoring.coreos.com/v1/ServiceMonitor", "com.coreos.monitoring.v1.ServiceMonitor");

  /** What a Knative revision has beside the fields of a pod. */
  private static final List<String> REVISION =
      List.of(
          "containerConcurrency",
          "timeoutSeconds",
          "responseStartTimeoutSeconds",
          "idleTimeoutSeconds");

  private static final Pattern QUANTITY =
      Pattern.compile("[+-]?(\\d+\\.?\\d*|\\.\\d+)(([KMGTPE]i)|[numkMGTPE]|[eE][+-]?\\d+)?");

  /** The model keeps unknown fields in a map of its own; here they are refused. */
  private static final ObjectMapper MODEL =
      new ObjectMapper()
          .setAnnotationIntrospector(
              new JacksonAnnotationIntrospector() {
                private static final long serialVersionUID = 1;

                @Override
                public Boolean hasAnySetter(Annotated annotated) {
                  return false;
                }
              })
          .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);

  private final JsonNode definitions;

  Schema() {
    try (InputStream in = Schema.class.getResourceAsStream("/openshift-generated.json")) {
      definitions = new ObjectMapper().readTree(in).get("definitions");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** One sentence for each problem, which names document and field. */
  List<String> problems(JsonNode document) {
    List<String> found = new ArrayList<>();
    String kind = document.path("apiVersion").asText() + "/" + document.path("kind").asText();
    if (document.at("/metadata/name").asText().isEmpty()) {
      found.add("metadata.name: missing");
    }
    if (kind.equals(KNATIVE)) {
      knative(document, found);
    } else if (KINDS.containsKey(kind)) {
      check(definitions.get(KINDS.get(kind)), document, "", found);
    } else {
      found.add("kind: " + kind + " is none that is known here");
    }
    return found.stream().map(problem -> Rules.name(document) + ": " + problem).toList();
  }

  private void knative(JsonNode document, List<String> found) {
    try {
      MODEL.treeToValue(document, Service.class);
    } catch (JsonMappingException e) {
      String path =
          e.getPath().stream()
              .map(at -> at.getIndex() < 0 ? "." + at.getFieldName() : "[" + at.getIndex() + "]")
              .reduce("", String::concat);
      found.add(path.substring(1) + ": " + e.getOriginalMessage());
      return;
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
    ObjectNode pod = document.withObject("/spec/template/spec").deepCopy();
    pod.remove(REVISION);
    check(definitions.get(POD_SPEC), pod, "spec.template.spec", found);
  }

  private void check(JsonNode schema, JsonNode value, String path, List<String> found) {
    if (schema.has("$ref")) {
      String name = schema.get("$ref").asText().replace("#/definitions/", "");
      if (name.endsWith(".Quantity")) {
        expect(QUANTITY.matcher(value.asText()).matches(), "a quantity", value, path, found);
      } else {
        check(definitions.get(name), value, path, found);
      }
      return;
    }
    switch (schema.path("type").asText()) {
      case "object" -> {
        if (expect(value.isObject(), "an object", value, path, found)) {
          checkFields(schema, value, path, found);
        }
      }
      case "array" -> {
        if (expect(value.isArray(), "a list", value, path, found)) {
          for (int i = 0; i < value.size(); i++) {
            check(schema.get("items"), value.get(i), path + "[" + i + "]", found);
          }
        }
      }
      case "string" -> {
        boolean number = schema.path("format").asText().equals("int-or-string") && value.isInt();
        if (expect(value.isTextual() || number, "a string", value, path, found)
            && schema.has("enum")) {
          List<String> allowed = new ArrayList<>();
          schema.get("enum").forEach(one -> allowed.add(one.asText()));
          expect(allowed.contains(value.asText()), "one of " + allowed, value, path, found);
        }
      }
      case "integer" -> expect(value.isIntegralNumber(), "an integer", value, path, found);
      case "number" -> expect(value.isNumber(), "a number", value, path, found);
      case "boolean" -> expect(value.isBoolean(), "true or false", value, path, found);
      default -> {
        // Anything at all.
      }
    }
  }

  private void checkFields(JsonNode schema, JsonNode value, String path, List<String> found) {
    String prefix = path.isEmpty() ? "" : path + ".";
    for (JsonNode required : schema.path("required")) {
      if (!value.has(required.asText())) {
        found.add(prefix + required.asText() + ": missing");
      }
    }
    value
        .properties()
        .forEach(
            field -> {
              JsonNode own = schema.path("properties").path(field.getKey());
              JsonNode any = schema.path("additionalProperties");
              if (!own.isMissingNode()) {
                check(own, field.getValue(), prefix + field.getKey(), found);
              } else if (any.isObject()) {
                check(any, field.getValue(), prefix + field.getKey(), found);
              } else if (schema.has("properties")) {
                found.add(prefix + field.getKey() + ": unknown field");
              }
            });
  }

  private static boolean expect(
      boolean holds, String what, JsonNode value, String path, List<String> found) {
    if (!holds) {
      found.add(path + ": " + value + " is not " + what);
    }
    return holds;
  }
}
