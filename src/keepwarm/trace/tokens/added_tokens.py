"""Which added tokens of a tokenizer are found wherever they stand, so that texts may be cut there."""

from __future__ import annotations

import tokenizers

_LONGEST_TOKEN = 200


def cut_tokens(tokens: list[tokenizers.AddedToken], *, keeps_text: bool) -> list[tokenizers.AddedToken]:
    """Added tokens that are found wherever they stand, whatever stands around.

    The library first finds tokens that are not normalized, leftmost and longest first, then the
    others in the normalized text between. A token is certain to be found if no other can overlap
    its beginning or hold it, and, for the second kind, if none of the first kind overlaps it at all.
    """
    contents = [token.content for token in tokens]
    endings = {content[i:] for content in contents for i in range(1, len(content))}
    early = [token.content for token in tokens if not token.normalized]
    beginnings = {content[:i] for content in early for i in range(1, len(content))}
    everything = "\0".join(contents)
    words_matter = any(token.single_word for token in tokens)
    whites_matter = any(content[0].isspace() for content in contents)
    found = []
    for token in tokens:
        text = token.content
        inner = range(1, len(text))
        certain = (
            3 <= len(text) <= _LONGEST_TOKEN
            and not text.isalnum()
            and not token.single_word
            and everything.count(text) == 1
            and not any(text[:i] in endings for i in inner)
            and not (words_matter and (_is_word(text[0]) or _is_word(text[-1])))
            and not (token.rstrip and whites_matter)
        )
        if certain and token.normalized:
            certain = keeps_text and not any(text[i:] in beginnings for i in inner)
            certain = certain and not any(other in text for other in early)
        if certain and not text[0].isspace():
            found.append(token)
    return found


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_" or not char.isascii()
