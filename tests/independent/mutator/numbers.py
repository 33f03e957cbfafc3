"""Values near the edges that rules draw."""


def odd_value(rng, value, size):
    """Another value for a field of this many bytes: near it, near 0, near the end, or any."""
    top = (1 << 8 * size) - 1
    choices = [
        0,
        1,
        value + 1,
        value - 1,
        value + rng.randint(-70, 70),
        value ^ 1 << rng.randrange(8 * size),
        value * 2,
        value // 2,
        value + (1 << rng.randrange(8 * size)),
        value - (1 << rng.randrange(8 * size)),
        1 << rng.randrange(8 * size),
        (1 << rng.randrange(8 * size)) - 1,
        top - rng.randrange(3),
        rng.randint(0, top),
    ]
    changed = rng.choice(choices) & top
    return changed if changed != value else value ^ 1


def random_bytes(rng, size):
    """Bytes of few kinds, so that they repeat."""
    return bytes(rng.choice(b"ab\n\0\xff") for _ in range(size))
