package baton.conductor;

import static org.assertj.core.api.Assertions.assertThat;

import baton.publisher.PublisherType;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What stands in the way of a registration. */
class ClaimsTest {
  private final Claims claims = new Claims(3, List.of("tcp://*"));

  private static Publisher engine(String endpoint, String instance, String seed) {
    return Feed.publisher(endpoint, PublisherType.VLLM, instance, 0, "m", seed);
  }

  private static Publisher pool(String endpoint, String seed) {
    return Feed.publisher(endpoint, PublisherType.MOONCAKE, "pool", 0, "m", seed);
  }

  private List<String> fields(Publisher publisher) {
    return claims.against(publisher).stream().map(Rejection::field).toList();
  }

  @Test
  void publisher_thatIsTheFirst_hasNothingAgainstIt() {
    assertThat(claims.against(engine("tcp://h:1", "a", "0"))).isEmpty();
  }

  @Test
  void obstacles_areAllTold() {
    claims.add(engine("tcp://h:1", "a", "0"));
    claims.add(engine("tcp://h:2", "b", "0"));
    claims.add(engine("tcp://h:3", "c", "0"));

    assertThat(claims.against(engine("tcp://h:2", "a", "1")))
        .extracting(Rejection::field)
        .containsExactly(null, "endpoint", "hash_profile", null);
    assertThat(fields(engine("ipc:///x", "d", "0"))).containsExactly("endpoint", null);
  }

  @ParameterizedTest
  @CsvSource({"tcp://h:1, tcp://H:01", "tcp://[::A]:1, tcp://[::a]:1", "tcp://*:1, tcp://*:00001"})
  void endpoint_inAnotherSpelling_isTheSame(String one, String other) {
    Publisher first = engine(one, "a", "0");
    claims.add(first);
    assertThat(fields(engine(other, "b", "0"))).containsExactly("endpoint");

    claims.remove(engine(other, "a", "0"));
    assertThat(fields(engine(one, "b", "0"))).isEmpty();
  }

  @Test
  void profile_isBoundAsLongAsAnEngineIsThere() {
    Publisher a = engine("tcp://h:1", "a", "0");
    Publisher b = engine("tcp://h:2", "b", "0");
    claims.add(a);
    claims.add(b);

    claims.remove(a);
    assertThat(fields(engine("tcp://h:3", "c", "1"))).containsExactly("hash_profile");
    claims.remove(b);
    assertThat(fields(engine("tcp://h:3", "c", "1"))).isEmpty();
  }

  @Test
  void profile_isNotBoundByAPool() {
    claims.add(pool("tcp://h:1", "0"));
    assertThat(fields(engine("tcp://h:2", "a", "1"))).isEmpty();
    claims.add(engine("tcp://h:2", "a", "1"));
    claims.remove(pool("tcp://h:1", "0"));
    assertThat(fields(pool("tcp://h:1", "0"))).containsExactly("hash_profile");
  }

  @Test
  void copy_goesItsOwnWay() {
    Publisher a = engine("tcp://h:1", "a", "0");
    claims.add(a);
    Claims copy = claims.copy();
    copy.remove(a);
    copy.add(engine("tcp://h:1", "b", "1"));

    assertThat(claims.holder(a.key())).isSameAs(a);
    assertThat(fields(engine("tcp://h:1", "b", "1"))).containsExactly("endpoint", "hash_profile");
    assertThat(copy.holder(a.key())).isNull();
  }

  @Test
  void endpoint_thatIsLinkLocal_isNeverAllowed() {
    assertThat(fields(engine("tcp://169.254.1.1:80", "a", "0"))).containsExactly("endpoint");
    assertThat(fields(engine("tcp://[fe80::1]:80", "a", "0"))).containsExactly("endpoint");
  }
}
