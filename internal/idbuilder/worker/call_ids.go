// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// serveHealth answers GET /health: a worker that answers is healthy.
func (c *call) serveHealth() error {
	return c.sendData(api.Health{Status: "healthy", Version: c.worker.options.Version})
}

// serveReady answers GET /ready.
func (c *call) serveReady() error {
	r := c.worker.Ready(c.requestContext())
	reply, status := api.Reply[api.Readiness]{Message: api.Success, Data: r}, http.StatusOK
	if !r.Ready {
		reply.Code, reply.Message, status = api.Unavailable, "service unavailable", http.StatusServiceUnavailable
	}
	b, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	c.body = append(c.body, b...)
	return c.sendBody(status)
}

// serveIncrement answers GET /v1/id/increment.
func (c *call) serveIncrement() error {
	p, err := parseParams(c.r.URL.RawQuery, "key", "name", "size", "count", "delta", "rand_delta")
	if err != nil {
		return err
	}
	e, s, err := c.authorize(p.key, idconfig.TypeIncrement)
	if err != nil {
		return err
	}
	c.numbers, err = c.worker.takeNumbers(c.requestContext(), e, s, c.numbers[:0], IncrementRequest{Key: p.key, Size: p.size, Delta: p.delta, RandDelta: p.random})
	if err != nil {
		return err
	}
	c.body = appendNumbers(c.body, c.numbers)
	return c.sendBody(http.StatusOK)
}

// serveFormatted answers GET /v1/id/formatted.
func (c *call) serveFormatted() error {
	p, err := parseParams(c.r.URL.RawQuery, "key", "name", "size", "count")
	if err != nil {
		return err
	}
	e, s, err := c.authorize(p.key, idconfig.TypeFormatted)
	if err != nil {
		return err
	}
	ids, err := c.worker.makeFormatted(c.requestContext(), e, s, nil, p.size)
	if err != nil {
		return err
	}
	return c.sendData(api.Texts{ID: ids, IDs: ids})
}

// serveSnowflake answers GET /v1/id/snowflake. The deployed worker's clients may send a
// count, which has no effect.
func (c *call) serveSnowflake() error {
	p, err := parseParams(c.r.URL.RawQuery, "key", "name", "size", "count", "lease_key", "renews")
	if err != nil {
		return err
	}
	e, s, err := c.authorize(p.key, idconfig.TypeSnowflake)
	if err != nil {
		return err
	}
	answer, err := c.worker.leaseWorkerID(c.requestContext(), e, s, snowflake.Client{LeaseKey: cmp.Or(p.leaseKey, c.lease), Renews: p.renews, Address: c.r.RemoteAddr})
	if err != nil {
		return err
	}
	return c.sendData(answer)
}

// serveRelease answers DELETE /v1/id/snowflake: the client has made its last ID.
func (c *call) serveRelease() error {
	p, err := parseParams(c.r.URL.RawQuery, "key", "name", "lease_key")
	if err != nil {
		return err
	}
	_, s, err := c.authorize(p.key, idconfig.TypeSnowflake)
	if err != nil {
		return err
	}
	if p.leaseKey == "" {
		return api.Errorf(api.Invalid, "lease_key: it is missing; send that of the last answer")
	}
	if err := c.worker.leases.Release(c.requestContext(), leaseKey(s.config), p.leaseKey); err != nil {
		return c.worker.leaseError(err)
	}
	return c.sendSuccess()
}

// openapi describes the endpoints, in OpenAPI 3.1.
//
//go:embed openapi.json
var openapi []byte

// serveOpenAPI is GET /openapi.json.
func (c *call) serveOpenAPI() error {
	c.body = append(c.body, openapi...)
	return c.sendBody(http.StatusOK)
}

// maxExact is the largest number that JavaScript holds exactly.
const maxExact = 1<<53 - 1

// appendNumbers appends the answer with numbers, in both dialects.
func appendNumbers(b []byte, numbers []int64) []byte {
	b = append(b, `{"code":0,"message":"success","data":{"id":[`...)
	begin, large := len(b), false
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
		large = large || n > maxExact || n < -maxExact
	}
	list := b[begin:]
	b = append(b, `],"ids":[`...)
	b = append(append(b, list...), ']')
	if large {
		b = append(b, `,"id_str":["`...)
		for i, n := range numbers {
			if i > 0 {
				b = append(b, `","`...)
			}
			b = strconv.AppendInt(b, n, 10)
		}
		b = append(b, `"]`...)
	}
	return append(b, `}}`...)
}

// maxSize is the largest number of IDs in one answer.
const maxSize = 1000

// params are the parameters of a request for IDs.
type params struct {
	key      string
	deployed bool // the request speaks the deployed worker's dialect: name, count
	size     int
	delta    int64 // 0: not given
	random   *bool // rand_delta; nil: not given
	leaseKey string
	renews   bool // the client renews its lease
}

// parseParams reads the parameters that are allowed. The error is a [*api.Error].
func parseParams(raw string, allowed ...string) (p params, err error) {
	p.size = 1
	var given [8]string // names so far
	n, escaped := 0, strings.ContainsAny(raw, "%+")
	for raw != "" && err == nil {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		if escaped {
			if name, value, err = unescape(name, value); err != nil {
				return p, err
			}
		}
		if !slices.Contains(allowed, name) {
			return p, api.Errorf(api.Invalid, "%s: there is no such parameter; allowed are %s", name, strings.Join(allowed, ", "))
		}
		if slices.Contains(given[:n], name) {
			return p, api.Errorf(api.Invalid, "%s: it is given twice", name)
		}
		given[n], n = name, n+1
		err = p.setParam(name, value, given[:n])
	}
	if err == nil && p.key == "" && !slices.Contains(given[:n], "key") && !slices.Contains(given[:n], "name") {
		err = api.Errorf(api.Invalid, "key: it is missing")
	}
	return p, err
}

// unescape decodes a name and its value.
func unescape(name, value string) (string, string, error) {
	n, err := url.QueryUnescape(name)
	if err != nil {
		return "", "", api.Errorf(api.Invalid, "%q: the name of a parameter is not well-formed: %v", name, err)
	}
	v, err := url.QueryUnescape(value)
	if err != nil {
		return "", "", api.Errorf(api.Invalid, "%s: the value is not well-formed: %v", n, err)
	}
	return n, v, nil
}

// alternatives are parameters with the same meaning in the two dialects.
var alternatives = map[string]string{"key": "name", "name": "key", "size": "count", "count": "size"}

func (p *params) setParam(name, value string, given []string) error {
	if other := alternatives[name]; other != "" && slices.Contains(given, other) {
		return api.Errorf(api.Invalid, "%s and %s say the same; give one of the two", other, name)
	}
	var err error
	switch name {
	case "key", "name":
		p.key, p.deployed = value, name == "name"
		if err := idconfig.CheckKey(name, value); err != nil && value != token.GlobalKey {
			return err
		}
	case "size", "count":
		if p.size, err = parseSize(name, value, maxSize); err != nil {
			return err
		}
	case "delta":
		if p.delta, err = strconv.ParseInt(value, 10, 64); err != nil || p.delta < 1 {
			return api.Errorf(limitCode(err, api.DeltaLimit), "delta: it is %q; allowed are 1 to the configuration's max_request_delta", value)
		}
	case "rand_delta":
		b, err := strconv.ParseBool(value)
		if err != nil {
			return api.Errorf(api.Invalid, "rand_delta: it is %q; allowed are true and false", value)
		}
		p.random = &b
	case "lease_key":
		p.leaseKey = value
	case "renews":
		if p.renews, err = strconv.ParseBool(value); err != nil {
			return api.Errorf(api.Invalid, "renews: it is %q; allowed are true and false", value)
		}
	}
	return nil
}

// parseSize reads a number of results.
func parseSize(name, value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		return 0, api.Errorf(limitCode(err, api.SizeLimit), "%s: it is %q; allowed are 1 to %d", name, value, most)
	}
	return n, nil
}

// limitCode returns the code for a number out of its range; other text is only invalid.
func limitCode(err error, limit api.Code) api.Code {
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return api.Invalid
	}
	return limit
}
