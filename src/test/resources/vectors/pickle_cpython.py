"""Writes pickle_cpython.json: what CPython itself pickles, by formulas instead of lists.

    python3 pickle_cpython.py > pickle_cpython.json

A case is pickle.dumps((parent, tokens, extras), protocol=5), with
  parent  the SHA-256 of the case's name
  tokens  offset + (a * i + b) % modulus for i in 0..count-1
  extras  None, or texts, each a unit repeated
"""
import hashlib, json, pickle, random, sys

rnd = random.Random(20260)
cases = []


def case(name, count, offset=0, modulus=200000, texts=()):
    a, b = rnd.randrange(1, 10**6) | 1, rnd.randrange(10**6)
    tokens = tuple(offset + (a * i + b) % modulus for i in range(count))
    # Every text is an object of its own, so that pickle has nothing to refer back to.
    extras = tuple("".join([unit] * times) for unit, times in texts) or None
    value = (hashlib.sha256(name.encode()).digest(), tokens, extras)
    data = pickle.dumps(value, protocol=5)
    cases.append({
        "name": name, "count": count, "offset": offset, "modulus": modulus, "a": a, "b": b,
        "texts": [{"unit": u, "times": t} for u, t in texts],
        "length": len(data), "sha256": hashlib.sha256(data).hexdigest()})


for n in range(1, 6):
    case(f"{n}_tokens", n)
    case(f"{n}_tokens_lora_and_salt", n, texts=[("ad", 3), ("sa", 4)])
for width, (offset, modulus) in {"one_byte": (0, 256), "two_bytes": (256, 65280),
                                 "four_bytes": (65536, 10**9), "negative": (-2**31, 2**31),
                                 "mixed": (-300, 70000)}.items():
    case(f"512_{width}", 512, offset, modulus)
# The first frame is full after 65536 - 36 bytes of tokens, the second after 65536 more.
for width, offset, modulus, size in (("one_byte", 0, 256, 2), ("two_bytes", 256, 65280, 3),
                                     ("four_bytes", 65536, 10**9, 5)):
    for frames in (1, 2):
        full = -(-(65536 * frames - 36) // size)
        for n in range(full - 4, full + 4):
            if n <= 45000:
                case(f"{width}_{n}", n, offset, modulus)
                case(f"{width}_{n}_extras", n, offset, modulus, [("x", 7), ("y", 9)])
for _ in range(12):
    n = rnd.randrange(12000, 40000)
    case(f"mixed_{n}", n, -300, rnd.choice((600, 66000, 10**7)), [("l", rnd.randrange(2, 300))])
for n in (254, 255, 256, 257, 65535, 65536, 65537, 131072):
    case(f"lora_{n}", 4, texts=[("l", n)])
    case(f"salt_after_lora_{n}", 4, texts=[("l", 20), ("s", n)])
    case(f"lora_{n}_with_a_full_frame", 13200, 65536, 10**9, [("l", n), ("s", 5)])
case("two_large_texts", 3, texts=[("l", 65536), ("s", 65537)])
case("two_large_texts_and_many_tokens", 30000, texts=[("l", 70000), ("s", 65536)])
for unit in ("é", "模型", "🚀", "aé模🚀"):
    for times in (1, 64, 127, 128, 21845, 21846, 32768):
        case(f"{unit}_{times}", 4, texts=[(unit, times), ("salt-" + unit, 1)])

seeds = ["0", "00", "7", "42", "123456789", "4294967295", "random", "0" * 255, "0" * 256]
json.dump({
    "description": "Written by pickle_cpython.py; CPython 3.10 to 3.13 give the same answers",
    "seeds": [{"seed": s, "pickle_hex": pickle.dumps(s, protocol=5).hex()} for s in seeds],
    "cases": cases}, sys.stdout, ensure_ascii=False, indent=1)
