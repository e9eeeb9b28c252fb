// SPDX-License-Identifier: Apache-2.0

package idbuilderd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/idbuilder/api"
	"github.com/kazahana-db/kazahana/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// Environment variables of commands that ask a server.
const (
	serverVariable = "IDBUILDER_SERVER"
	tokenVariable  = "IDBUILDER_TOKEN"
)

const aboutService = `
With --server (or IDBUILDER_SERVER) the command asks a server, and shows it the token that --token-file
or IDBUILDER_TOKEN has. Without, it works on the store that the settings name, and needs no token; the
embedded engine can then be used by no server.`

// serviceFlags say which service a command asks.
type serviceFlags struct {
	server, tokenFile string
	timeout           time.Duration
}

func (f *serviceFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVarP(&f.server, "server", "s", "", "`URL` of a server")
	set.StringVar(&f.tokenFile, "token-file", "", "`file` with the token to show it")
	set.DurationVar(&f.timeout, "timeout", 30*time.Second, "give up after this `duration`; 0: never")
}

// service is a service that answers requests, over the network or in this
// process.
type service struct {
	url    string
	token  string
	client *http.Client
	direct *idbuilder.Worker // nil over the network
}

// with calls do with the service that the flags name.
func (f *serviceFlags) with(c *command, cmd *cobra.Command, do func(context.Context, *service) error) error {
	ctx := cmd.Context()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("gave up after %v, as --timeout says: %w", f.timeout, context.DeadlineExceeded))
		defer cancel()
	}
	token, err := f.token()
	if err != nil {
		return err
	}
	server := cmp.Or(f.server, os.Getenv(serverVariable))
	if server == "" {
		return f.withStore(ctx, c, cmd, token, do)
	}
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return shell.Misuse(cmd, errors.New("--server: it must be a URL such as http://localhost:8080, without a user"))
	}
	return do(ctx, &service{url: strings.TrimSuffix(server, "/"), token: token, client: http.DefaultClient})
}

// token reads the token that is shown to the service.
func (f *serviceFlags) token() (string, error) {
	if f.tokenFile == "" {
		return os.Getenv(tokenVariable), nil
	}
	text, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// withStore calls do with a worker in this process. Who can open the store needs
// no token: the worker accepts one that is made here, and forgotten.
func (f *serviceFlags) withStore(ctx context.Context, c *command, cmd *cobra.Command, token string, do func(context.Context, *service) error) error {
	return c.withStore(ctx, cmd, func(s *settings.Settings, h home) error {
		o := options(s, c.Logger())
		o.Rate, o.AdminApart = 0, false
		o.Sequences = sequence.Options{BatchSize: 1, MaxBatch: 1} // what is left would be a gap
		if token == "" {
			o.Tokens.Admin = rand.Text()
			token = o.Tokens.Admin
		}
		w, err := idbuilder.NewWorker(h, o)
		if err != nil {
			return err
		}
		err = do(ctx, &service{url: "http://store", token: token, client: &http.Client{Transport: inProcess{w}}, direct: w})
		return errors.Join(err, w.Close(ctx))
	})
}

// withStore opens and initialises the store, calls do, and closes it.
func (c *command) withStore(ctx context.Context, cmd *cobra.Command, do func(*settings.Settings, home) error) error {
	s, err := c.flags.load(cmd)
	if err != nil {
		return err
	}
	h, err := open(ctx, s.Storage, c.Logger())
	if err != nil {
		return err
	}
	err = initialise(ctx, s.Storage, h)
	if err == nil {
		err = do(s, h)
	}
	return errors.Join(err, h.Close())
}

// call sends a request and decodes the data of the answer, unless data is nil.
// The error of an answer that refuses is an [*api.Error].
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
	return s.decode(res.StatusCode, text, data)
}

func (s *service) decode(status int, text []byte, data any) error {
	var reply api.Reply[json.RawMessage]
	if err := json.Unmarshal(text, &reply); err != nil {
		return fmt.Errorf("%s answers %d, and no JSON: is it an ID service? %.80q", s.url, status, text)
	}
	switch {
	case reply.Code != api.OK || status != http.StatusOK:
		return &refusal{s.url, &api.Error{Code: reply.Code, Status: status, Message: reply.Message}}
	case data == nil:
		return nil
	}
	return json.Unmarshal(reply.Data, data)
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

// inProcess sends requests to a handler.
type inProcess struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	a := &answer{header: http.Header{}, status: http.StatusOK}
	p.handler.ServeHTTP(a, req)
	return &http.Response{
		StatusCode: a.status, Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()),
		Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// answer is a [http.ResponseWriter].
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements [http.ResponseWriter].
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// names reports whether a server is named.
func (f *serviceFlags) names() bool { return cmp.Or(f.server, os.Getenv(serverVariable)) != "" }
