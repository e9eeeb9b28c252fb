// SPDX-License-Identifier: Apache-2.0

package http

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kazahana-db/kazahana/lease"
)

// services answers GET /services: those that the token may lease for.
func (h *Handler) handleServices(w http.ResponseWriter, r *http.Request, account *account) (any, error) {
	if err := checkMethod(w, r, http.MethodGet, http.MethodHead); err != nil {
		return nil, err
	}
	store, ok := h.options.Lister.(Enumerator)
	if !ok || !account.mayList() {
		return nil, newStatusError(http.StatusForbidden, codeForbidden, "services are not listed here, or not for this token")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: the query: %w", lease.ErrInvalid, err)
	}
	limit := 0
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("%w: the limit is %q", lease.ErrInvalid, text)
		}
	}
	ids, err := account.listServices(r.Context(), store, query.Get("after"), limit)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, newStatusError(http.StatusForbidden, codeForbidden, "the store of this server does not list services")
	}
	if err != nil {
		return nil, err
	}
	answer := servicesAnswer{Services: append([]string{}, ids...)}
	if len(ids) > 0 {
		answer.Next = ids[len(ids)-1]
	}
	return answer, nil
}
