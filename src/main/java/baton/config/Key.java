package baton.config;

import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.WithDefault;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * One key of {@link BatonConfig}, read from its method there, and what values it may have. The
 * framework would refuse them too, but not all at once, and not in an operator's terms.
 *
 * @param name with its prefix
 * @param type of its values; {@link List} for several texts
 * @param standard the value if none is given; null for none
 * @param min of a number
 * @param max of a number
 * @param secret whether its value must not be shown
 */
@RegisterForReflection(
    targets = {
      BatonConfig.class,
      BatonConfig.Http.class,
      BatonConfig.Rpc.class,
      BatonConfig.Remote.class,
      BatonConfig.Zmq.class,
      BatonConfig.Recovery.class,
      BatonConfig.Registration.class,
      BatonConfig.Index.class,
      BatonConfig.PromptEmbeds.class,
      BatonConfig.Admin.class,
      BatonConfig.Configuration.class,
      BatonConfig.Readiness.class,
      BatonConfig.Demo.class,
      BatonConfig.Publisher.class,
      BatonConfig.HashProfile.class,
      BatonConfig.OnLoss.class
    })
record Key(String name, Class<?> type, String standard, long min, long max, boolean secret) {
  static final String PREFIX = "baton.";
  static final String PUBLISHERS = "baton.publishers.";

  /** All but the publishers', by name. */
  static final List<Key> ALL;

  /** The fields of a publisher, as in {@code hash-profile.strategy}. */
  static final List<String> PUBLISHER_FIELDS;

  static {
    List<Key> keys = new ArrayList<>();
    collect(BatonConfig.class, PREFIX, keys);
    keys.sort(Comparator.comparing(Key::name));
    ALL = List.copyOf(keys);
    List<Key> fields = new ArrayList<>();
    collect(BatonConfig.Publisher.class, "", fields);
    PUBLISHER_FIELDS = fields.stream().map(Key::name).sorted().toList();
  }

  private static void collect(Class<?> group, String prefix, List<Key> keys) {
    for (Method method : group.getMethods()) {
      String name = prefix + kebab(method.getName());
      Class<?> type = method.getReturnType();
      if (type.getEnclosingClass() == BatonConfig.class && !type.isEnum()) {
        collect(type, name + ".", keys);
      } else {
        keys.add(of(name, type, method));
      }
    }
  }

  private static Key of(String name, Class<?> type, Method method) {
    WithDefault standard = method.getAnnotation(WithDefault.class);
    BatonConfig.Range range = method.getAnnotation(BatonConfig.Range.class);
    return new Key(
        name,
        type,
        standard == null ? null : standard.value(),
        range == null ? 0 : range.min(),
        range == null ? Integer.MAX_VALUE : range.max(),
        method.isAnnotationPresent(BatonConfig.Secret.class));
  }

  private static String kebab(String camel) {
    return camel.replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
  }

  /** The key of a publisher's field. */
  static String publisherKey(String name, String field) {
    String segment = name.matches("[A-Za-z0-9_-]+") ? name : '"' + name.replace("\"", "\\\"") + '"';
    return PUBLISHERS + segment + "." + field;
  }

  /** The environment's name of a key or of a field. */
  static String environmentName(String key) {
    return key.toUpperCase(Locale.ROOT).replaceAll("[^A-Z0-9]", "_");
  }

  /** What is wrong with a value, or null. */
  String problem(String value) {
    if (type == int.class || type == long.class) {
      return Numbers.problem(value, min, max);
    }
    if (type == boolean.class) {
      return value.matches("(?i)true|false") ? null : "must be true or false" + not(value);
    }
    if (type.isEnum()) {
      List<String> names =
          Arrays.stream(type.getEnumConstants())
              .map(constant -> constant.toString().toLowerCase(Locale.ROOT))
              .toList();
      return names.contains(value.toLowerCase(Locale.ROOT))
          ? null
          : "must be " + names.stream().collect(Collectors.joining(" or ")) + not(value);
    }
    return type == List.class && value.isEmpty() ? "must not be empty" : null;
  }

  /** The end of a complaint: the value, shortened. */
  static String not(String value) {
    return ", not " + quoted(value);
  }

  static String quoted(String value) {
    return '"' + shortened(value) + '"';
  }

  static String shortened(String value) {
    return value.length() > 64 ? value.substring(0, 64) + "…" : value;
  }
}
