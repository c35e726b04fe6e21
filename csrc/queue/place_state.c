#include "queue/place_state.h"

#include "base/moves.h"
#include "queue/contender.h"

zkl_guest *zkl_guest_of(zkl_contender *c) {
    return ZKL_CONTAINER_OF(c, zkl_guest, contender);
}

zkl_nanos zkl_place_now(const zkl_place *place) {
    return zkl_context_now(place->context);
}

void zkl_place_stir(zkl_place *place) {
    if (place->stirred)
        return;
    place->stirred = true;
    zkl_list_append(&place->line->queue->stirred, &place->item);
}

zkl_contender *zkl_place_waiter(const zkl_place *place) {
    return ZKL_FIRST(&place->waiting, zkl_contender, member);
}

zkl_contender *zkl_place_holder(const zkl_place *place) {
    return ZKL_FIRST(&place->holders, zkl_contender, member);
}

bool zkl_place_sealed(const zkl_place *place) {
    return place->sealed || (place->node && place->node->revoked);
}

static zkl_moves company_moves = {
    .of = "company of a place",
    .names = {"UNKNOWN", "NONE", "SOME"},
    .legal =
        {
            [ZKL_COMPANY_UNKNOWN] = ZKL_TO(ZKL_COMPANY_NONE) | ZKL_TO(ZKL_COMPANY_SOME),
            [ZKL_COMPANY_NONE] = ZKL_TO(ZKL_COMPANY_UNKNOWN) | ZKL_TO(ZKL_COMPANY_SOME),
            [ZKL_COMPANY_SOME] = ZKL_TO(ZKL_COMPANY_UNKNOWN) | ZKL_TO(ZKL_COMPANY_NONE),
        },
};

void zkl_place_set_company(zkl_place *place, zkl_company company) {
    zkl_moves_make(&company_moves, place->company, company);
    place->company = company;
}

zkl_place *zkl_place_find(const zkl_line *line, zkl_kind kind) {
    zkl_place *found = NULL;
    ZKL_EACH (zkl_listener, listener, &line->listeners, item) {
        zkl_place *place = ZKL_CONTAINER_OF(listener, zkl_place, listener);
        if (place->kind != kind || place->under)
            continue;
        if (!zkl_place_sealed(place))
            return place;
        found = found ? found : place;
    }
    return found;
}
