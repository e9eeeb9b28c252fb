// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/kazahana-db/kazahana/lease"
)

// Enumerator tells which services there are, as [lease.Server] does.
type Enumerator interface {
	Services(ctx context.Context, after string, limit int) ([]string, error)
}

// servicesAnswer is the answer to GET /services.
type servicesAnswer struct {
	Services []string `json:"services"`
	Next     string   `json:"next,omitempty"` // continues the list as after; "" if this is its end
}

// services answers GET /services: those that the token may lease for.
func (h *Handler) services(w http.ResponseWriter, r *http.Request, account *account) (any, error) {
	if err := allow(w, r, http.MethodGet, http.MethodHead); err != nil {
		return nil, err
	}
	store, ok := h.options.Lister.(Enumerator)
	if !ok || !account.mayList() {
		return nil, fault(http.StatusForbidden, codeForbidden, "services are not listed here, or not for this token")
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
	ids, err := account.services(r.Context(), store, query.Get("after"), limit)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, fault(http.StatusForbidden, codeForbidden, "the store of this server does not list services")
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

// fullPage is the most services that an [Enumerator] returns at once.
const fullPage = 1000

// services returns services behind after, at most limit of them: those that the
// token may lease for, since the names of others are not its business. There are
// none only where there are no more.
func (a *account) services(ctx context.Context, store Enumerator, after string, limit int) ([]string, error) {
	if a == nil || len(a.Services) == 0 {
		return store.Services(ctx, after, limit)
	}
	step := limit
	if limit > 0 {
		step = max(limit, fullPage) // few of them may be the token's
	}
	for {
		ids, err := store.Services(ctx, after, step)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		after = ids[len(ids)-1]
		ids = slices.DeleteFunc(ids, func(id string) bool { return a.permit(id) != nil })
		if limit > 0 {
			ids = ids[:min(limit, len(ids))]
		}
		if len(ids) > 0 {
			return ids, nil
		}
	}
}

// Services implements [Enumerator], for tokens that may list: those of the
// server's services that the token may lease for. Errors are as for Acquire.
func (c *Client) Services(ctx context.Context, after string, limit int) ([]string, error) {
	where := c.base.JoinPath("services")
	where.RawQuery = url.Values{"after": {after}, "limit": {strconv.Itoa(limit)}}.Encode()
	var answer servicesAnswer
	err := c.call(ctx, http.MethodGet, where, nil, &answer)
	return answer.Services, err
}
