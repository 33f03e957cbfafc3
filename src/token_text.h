/* token_text.h - what the tokens of a dictionary are as text. */
#ifndef FP_TOKEN_TEXT_H
#define FP_TOKEN_TEXT_H

#include "dict.h"

/* No byte is above 127; each token is UTF-8 by itself; or neither. */
enum { FP_TOKENS_UNKNOWN, FP_TOKENS_ASCII, FP_TOKENS_WHOLE, FP_TOKENS_ANY };

/* How a token that is not UTF-8 by itself goes together with its neighbours: with FP_PIECE, so many
 * bytes of a character that begins before it, and so many bytes that the last character lacks. All of
 * its bytes are of one character if FP_PIECE_ONLY is set: then that character lacks as many fewer bytes
 * after it. Without FP_PIECE its bytes must be looked at. */
enum { FP_PIECE_LACKS_SHIFT = 2, FP_PIECE_ONLY = 16, FP_PIECE = 32, FP_NO_PIECE = 64 };

/* What is true of all tokens. `kinds`, which may be NULL, gets a byte for each code below N: 0 if its
 * token is UTF-8 by itself, else what is above. Codes without a token decode to zeros, which are. */
uint32_t fp_token_text(const fp_dict *dict, uint8_t *kinds);

#endif
