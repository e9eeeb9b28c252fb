// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"net/url"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// serveVerify answers GET /v1/auth/verify.
func (c *call) serveVerify() error {
	if err := c.authorizeAdmin(); err != nil {
		return err
	}
	return c.sendSuccess()
}

// serveToken answers GET /v1/auth/token.
func (c *call) serveToken() error {
	return c.sendToken("showed a token to an admin", func(key string) (token.Token, error) {
		return c.worker.tokens.Key(c.requestContext(), bearer(c.r), key)
	})
}

// serveTokenReset answers GET /v1/auth/tokenreset.
func (c *call) serveTokenReset() error {
	return c.sendToken("an admin reset a token", func(key string) (token.Token, error) {
		t, err := c.worker.tokens.Reset(c.requestContext(), bearer(c.r), key)
		if errors.Is(err, revision.ErrUnconfirmed) {
			err = &api.Error{Code: api.Unavailable, RetryAfter: time.Second, Err: err, Message: "the key has a new token, which GET /v1/auth/token returns, but other workers may accept the token before it for a minute; repeat the reset to end that"}
		}
		return t, err
	})
}

// sendToken answers with a token. The key need not have a configuration yet: clients of the deployed
// worker may get the token first.
func (c *call) sendToken(what string, fn func(key string) (token.Token, error)) error {
	if err := c.authorizeAdmin(); err != nil {
		return err
	}
	p, err := parseParams(c.r.URL.RawQuery, "key", "name")
	if err != nil {
		return err
	}
	t, err := fn(p.key)
	if err != nil {
		return err
	}
	c.logAction(what, p.key)
	data := api.Token{Key: p.key, Token: t.Text, Type: "key"}
	if !t.Expires.IsZero() {
		data.ExpiresAt = t.Expires.Format("2006-01-02T15:04:05Z07:00")
	}
	return c.sendData(data)
}

// serveList answers GET /v1/config/list.
func (c *call) serveList() error {
	if err := c.authorizeAdmin(); err != nil {
		return err
	}
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return api.Errorf(api.Invalid, "query: it is not well-formed: %v", err)
	}
	o, err := parseList(query)
	if err != nil {
		return err
	}
	configs, more, err := c.worker.Configs(c.requestContext(), o)
	if err != nil {
		return err
	}
	page := api.Page{Items: []api.Summary{}, HasMore: more}
	for _, config := range configs {
		item := api.Summary{Key: config.Key, IDType: string(config.Type), Name: config.Name}
		if config.Err != nil {
			item.Error = c.worker.APIError(config.Err).Message
		}
		page.Items = append(page.Items, item)
	}
	if more {
		page.NextCursor = &page.Items[len(page.Items)-1].Key
	}
	return c.sendData(page)
}

func parseList(query url.Values) (o store.ListOptions, err error) {
	o.Limit = 20
	for name, values := range query {
		switch name {
		case "key":
			o.Prefix = values[0]
		case "from":
			o.After = values[0]
		case "size":
			if o.Limit, err = parseSize("size", values[0], 100); err != nil {
				return o, err
			}
		default:
			return o, api.Errorf(api.Invalid, "%s: there is no such parameter; allowed are key, from, size", name)
		}
		if len(values) > 1 {
			return o, api.Errorf(api.Invalid, "%s: it is given twice", name)
		}
	}
	return o, errors.Join(checkPart("key", o.Prefix), checkPart("from", o.After))
}

// checkPart refuses texts that cannot be a part of a key, or that stores cannot compare with
// keys: with control characters, or bytes that are not UTF-8.
func checkPart(param, text string) error {
	if text == "" || store.CheckName(text) == nil {
		return nil
	}
	return api.Errorf(api.InvalidKey, "%s: it is %q; allowed are 0 to 255 bytes of UTF-8 without control characters", param, text)
}

// serveSave answers POST /v1/config/{type}.
func serveSave(t idconfig.Type) endpoint {
	return func(c *call) error {
		if err := c.authorizeAdmin(); err != nil {
			return err
		}
		body, err := c.readBody()
		if err != nil {
			return err
		}
		r, err := idconfig.Parse(t, body, c.worker.options.Now())
		if err != nil {
			return err
		}
		if err := c.worker.SaveConfig(c.requestContext(), r); err != nil {
			return err
		}
		c.logAction("an admin set a configuration", r.Key)
		if r.CreateOnly { // the deployed worker's answer
			return c.sendSuccess()
		}
		return c.sendConfig(r.Key, t, false)
	}
}

// serveConfig answers GET /v1/config/{type}.
func serveConfig(t idconfig.Type) endpoint {
	return func(c *call) error {
		if err := c.authorizeAdmin(); err != nil {
			return err
		}
		p, err := parseParams(c.r.URL.RawQuery, "key", "name")
		if err != nil {
			return err
		}
		return c.sendConfig(p.key, t, p.deployed)
	}
}

func (c *call) sendConfig(key string, t idconfig.Type, deployed bool) error {
	config, state, err := c.worker.Config(c.requestContext(), key)
	if err != nil {
		return err
	}
	if config.Type != t {
		return api.Errorf(api.NotFound, "key: %q makes %s IDs; ask /v1/config/%s", key, config.Type, config.Type)
	}
	return c.sendData(config.Fields(deployed, state))
}

// serveDelete answers DELETE /v1/config/{type}.
func serveDelete(t idconfig.Type) endpoint {
	return func(c *call) error {
		if err := c.authorizeAdmin(); err != nil {
			return err
		}
		p, err := parseParams(c.r.URL.RawQuery, "key", "name")
		if err != nil {
			return err
		}
		config, err := c.worker.storedConfig(c.requestContext(), p.key)
		if err == nil && config != nil && !config.Deleted && config.Type != t {
			err = api.Errorf(api.NotFound, "key: %q makes %s IDs; ask /v1/config/%s", p.key, config.Type, config.Type)
		}
		if err == nil {
			err = c.worker.DeleteConfig(c.requestContext(), p.key)
		}
		if err != nil {
			return err
		}
		c.logAction("an admin deleted a configuration", p.key)
		return c.sendSuccess()
	}
}
