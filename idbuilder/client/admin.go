// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// Admin changes what the service keeps. Its requests need an admin token, and are repeated
// like those for IDs: each of them may be carried out more than once, with the same result. Where
// an answer was lost and the repeated request finds the change made, the change succeeds,
// whoever made it.
type Admin struct{ client *Client }

// Verify returns nil if the token is an admin token.
func (a Admin) Verify(ctx context.Context) error {
	return a.client.send(ctx, request{method: http.MethodGet, path: "/v1/auth/verify"})
}

// Token returns the token of a key, the same one as long as it is valid, and when it expires; zero: it
// does not.
func (a Admin) Token(ctx context.Context, key string) (t Token, expires time.Time, err error) {
	return a.requestToken(ctx, "/v1/auth/token", key)
}

// ResetToken returns another token for a key, as Token does. When the error is nil, all workers refuse
// the one before.
func (a Admin) ResetToken(ctx context.Context, key string) (t Token, expires time.Time, err error) {
	return a.requestToken(ctx, "/v1/auth/tokenreset", key)
}

func (a Admin) requestToken(ctx context.Context, path, key string) (t Token, expires time.Time, err error) {
	err = a.client.send(ctx, request{
		method: http.MethodGet, path: path, query: url.Values{"key": {key}},
		read: func(data json.RawMessage) (err error) { t, expires, err = readToken(data); return err },
	})
	return t, expires, err
}

func readToken(data json.RawMessage) (t Token, expires time.Time, err error) {
	var answer api.Token
	if err := json.Unmarshal(data, &answer); err != nil {
		return "", expires, err
	}
	if answer.Token == "" {
		return "", expires, errors.New("there is no token")
	}
	if answer.ExpiresAt != "" {
		if expires, err = time.Parse(time.RFC3339, answer.ExpiresAt); err != nil {
			return "", time.Time{}, fmt.Errorf("expires_at: %w", err)
		}
	}
	return Token(answer.Token), expires, nil
}

// Save creates a configuration or changes it. The type is "increment", "snowflake"
// or "formatted"; the configuration is encoded as JSON, with the
// parameters of either dialect:
//
//	err := admin.Save(ctx, "increment", map[string]any{"key": "orders", "base": 1000})
func (a Admin) Save(ctx context.Context, idType string, config any) error {
	body, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("client: the configuration cannot be encoded: %w", err)
	}
	err = a.client.send(ctx, request{method: http.MethodPost, path: configPath(idType), body: body})
	if answeredLate(err, http.StatusConflict) && a.hasConfig(ctx, idType, body) {
		return nil
	}
	return err
}

// answeredLate reports whether a refusal with a status may be due to an earlier try of the same
// request, if the answer to that was lost.
func answeredLate(err error, status int) bool {
	var failed *RequestError
	var refusal *api.Error
	return errors.As(err, &failed) && failed.uncertain && errors.As(err, &refusal) && refusal.HTTPStatus() == status
}

// hasConfig reports whether the service has the configuration in the body of a request: whether all
// members that the service shows are equal.
func (a Admin) hasConfig(ctx context.Context, idType string, body []byte) bool {
	var wanted, stored map[string]any
	if decodeExactly(body, &wanted) != nil {
		return false
	}
	query := url.Values{}
	for _, name := range []string{"name", "key"} { // the key names the configuration if both are there
		if key, ok := wanted[name].(string); ok {
			query = url.Values{name: {key}}
		}
	}
	err := a.client.send(ctx, request{
		method: http.MethodGet, path: configPath(idType), query: query,
		read: func(data json.RawMessage) error { return decodeExactly(data, &stored) },
	})
	for name, value := range wanted {
		if shown, ok := stored[name]; ok && !reflect.DeepEqual(shown, value) {
			return false
		}
	}
	return err == nil
}

// decodeExactly decodes JSON without rounding numbers.
func decodeExactly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

// Config decodes the configuration of a key into a value: a struct with the fields that are
// wanted, or a map.
func (a Admin) Config(ctx context.Context, idType, key string, into any) error {
	return a.client.send(ctx, request{
		method: http.MethodGet, path: configPath(idType), query: url.Values{"key": {key}},
		read: func(data json.RawMessage) error { return json.Unmarshal(data, into) },
	})
}

// Delete deletes a configuration and makes its tokens invalid.
func (a Admin) Delete(ctx context.Context, idType, key string) error {
	err := a.client.send(ctx, request{method: http.MethodDelete, path: configPath(idType), query: url.Values{"key": {key}}})
	if answeredLate(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// Summary is a configuration in a list.
type Summary struct {
	Key   string
	Type  string // "increment", "snowflake" or "formatted"
	Name  string
	Error string // why the service cannot read the configuration; empty: it can
}

// Configs returns the configurations of the keys that begin with a prefix, in their order. It
// ends after an error.
func (a Admin) Configs(ctx context.Context, prefix string) iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		query := url.Values{"size": {"100"}}
		if prefix != "" {
			query.Set("key", prefix)
		}
		for {
			page, err := get[api.Page](ctx, a.client, "/v1/config/list", query)
			if err != nil {
				yield(Summary{}, err)
				return
			}
			for _, item := range page.Items {
				if !yield(Summary{Key: item.Key, Type: item.IDType, Name: item.Name, Error: item.Error}, nil) {
					return
				}
			}
			if !page.HasMore || page.NextCursor == nil {
				return
			}
			query.Set("from", *page.NextCursor)
		}
	}
}

func configPath(idType string) string { return "/v1/config/" + url.PathEscape(idType) }

// get returns the data of an answer.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (result T, err error) {
	err = c.send(ctx, request{
		method: http.MethodGet, path: path, query: query,
		read: func(data json.RawMessage) error { return json.Unmarshal(data, &result) },
	})
	return result, err
}
