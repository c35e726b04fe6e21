#include "recipe/path.h"

#include <stdint.h>

/* How many bytes follow the first one of a character, and what that one is worth. 3: none that the
 * servers take begins so. */
static unsigned lead(unsigned char byte, uint32_t *code) {
    if (byte < 0x80) {
        *code = byte;
        return 0;
    }
    if (byte >= 0xc2 && byte <= 0xdf) {
        *code = byte & 0x1fU;
        return 1;
    }
    *code = byte & 0x0fU;
    return byte >= 0xe0 && byte <= 0xef ? 2 : 3;
}

/* Of the characters from U+D800 on, most of which are halves of those that Java cannot spell as
 * one, or private, the servers take these. */
static bool is_taken(uint32_t code) {
    return (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code < 0xd800) ||
           (code >= 0xf900 && code < 0xfff0);
}

bool zkl_path_is_spelled(const char *path) {
    while (*path) {
        uint32_t code;
        const unsigned more = lead((unsigned char)*path++, &code);
        if (more > 2)
            return false;
        for (unsigned i = 0; i < more; i++, path++) {
            if (((unsigned char)*path & 0xc0U) != 0x80) /* the end of the text is none, either */
                return false;
            code = code << 6 | ((unsigned char)*path & 0x3fU);
        }
        if (!is_taken(code) || (more == 2 && code < 0x800))
            return false;
    }
    return true;
}
