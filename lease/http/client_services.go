// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// Services implements [Enumerator], for tokens that may list: those of the
// server's services that the token may lease for. Errors are as for Acquire.
func (c *Client) Services(ctx context.Context, after string, limit int) ([]string, error) {
	where := c.base.JoinPath("services")
	where.RawQuery = url.Values{"after": {after}, "limit": {strconv.Itoa(limit)}}.Encode()
	var answer servicesAnswer
	err := c.send(ctx, http.MethodGet, where, nil, &answer)
	return answer.Services, err
}
