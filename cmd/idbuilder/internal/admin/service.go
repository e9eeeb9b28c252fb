// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// service is a service that answers requests, over the network or in this
// process.
type service struct {
	url    string
	token  string
	client *http.Client
	direct *idbuilder.Worker // nil over the network
}

// call sends a request and decodes the data of the answer, unless data is nil. If the service
// refuses, the error is an [*api.Error].
func (s *service) call(ctx context.Context, method, path string, query url.Values, body []byte, data any) error {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("%s: %w", s.url, err)
	}
	if to := access.RedirectOrigin(res); to != "" {
		return fmt.Errorf("%s answers %d, and redirects to %s, which the command does not follow: if that is the server, name it with --server", s.url, res.StatusCode, to)
	}
	return s.decodeAnswer(res.StatusCode, text, data)
}

func (s *service) decodeAnswer(status int, text []byte, data any) error {
	var reply api.Reply[json.RawMessage]
	if err := json.Unmarshal(text, &reply); err != nil {
		return fmt.Errorf("%s answers %d, without JSON: is it an ID service? %.80q", s.url, status, text)
	}
	switch {
	case reply.Code != api.OK || status != http.StatusOK:
		return &refusal{s.url, &api.Error{Code: reply.Code, Status: status, Message: reply.Message}}
	case data == nil:
		return nil
	}
	return json.Unmarshal(reply.Data, data)
}

// eachConfig calls do with each configuration, a page at a time.
func (s *service) eachConfig(ctx context.Context, prefix string, do func(api.Summary) error) error {
	query := url.Values{"key": {prefix}, "size": {"100"}}
	for {
		var page api.Page
		if err := s.call(ctx, http.MethodGet, "/v1/config/list", query, nil, &page); err != nil {
			return err
		}
		for _, item := range page.Items {
			if err := do(item); err != nil {
				return err
			}
		}
		if !page.HasMore || page.NextCursor == nil {
			return nil
		}
		query.Set("from", *page.NextCursor)
	}
}

// typeOf returns the type of a key. Of the keys with a prefix, the prefix itself
// is the first.
func (s *service) typeOf(ctx context.Context, key string) (string, error) {
	var page api.Page
	if err := s.call(ctx, http.MethodGet, "/v1/config/list", url.Values{"key": {key}, "size": {"1"}}, nil, &page); err != nil {
		return "", err
	}
	if len(page.Items) == 0 || page.Items[0].Key != key {
		return "", &refusal{s.url, &api.Error{Code: api.NotFound, Message: fmt.Sprintf("there is no configuration %q", key)}}
	}
	return page.Items[0].IDType, nil
}

// refusal is an answer that refuses.
type refusal struct {
	url string
	err *api.Error
}

// Error implements error.
func (r *refusal) Error() string {
	text := fmt.Sprintf("%s (code %d, HTTP %d)", r.err.Message, r.err.Code, r.err.HTTPStatus())
	if r.err.Code == api.Authentication {
		text += "; give a token with --token-file or " + tokenVariable
	}
	return text
}

// Unwrap returns the answer.
func (r *refusal) Unwrap() error { return r.err }
