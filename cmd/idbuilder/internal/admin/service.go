// SPDX-License-Identifier: Apache-2.0

package admin

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

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// service is a service that answers requests, over the network or in this
// process.
type service struct {
	url    string
	token  string
	client *http.Client
	direct *worker.Worker // nil over the network
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

// Environment variables of commands that ask a server.
const (
	serverVariable = "IDBUILDER_SERVER"
	tokenVariable  = "IDBUILDER_TOKEN"
)

const aboutService = `
With --server (or IDBUILDER_SERVER) the command asks a server, and shows it the token that --token-file
or IDBUILDER_TOKEN has: by TLS, or on this machine, unless --plain-http is given. Without, it works on the store that the settings name, and needs no token; the
embedded engine can then be used by no server.`

// serviceFlags are the flags of the service that a command asks.
type serviceFlags struct {
	server, tokenFile string
	timeout           time.Duration
	plainHTTP         bool
}

func (f *serviceFlags) addTo(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVarP(&f.server, "server", "s", "", "`URL` of a server")
	set.StringVar(&f.tokenFile, "token-file", "", "`file` with the token to show it")
	set.BoolVar(&f.plainHTTP, "plain-http", false, "show a server the token without TLS, over a network that encrypts")
	set.DurationVar(&f.timeout, "timeout", 30*time.Second, "give up after this `duration`; 0: never")
}

// serviceCommand makes cmd a command that asks a service: it calls do with the
// service that the flags name, and the arguments.
func serviceCommand(p *program.Program, cmd *cobra.Command, do func(ctx context.Context, s *service, args []string) error) *cobra.Command {
	var at serviceFlags
	at.addTo(cmd)
	cmd.Long += aboutService
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return at.withService(p, cmd, func(ctx context.Context, s *service) error { return do(ctx, s, args) })
	}
	return cmd
}

// withService calls do with the service that the flags name.
func (f *serviceFlags) withService(p *program.Program, cmd *cobra.Command, do func(context.Context, *service) error) error {
	ctx := cmd.Context()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("gave up after %v, as --timeout says: %w", f.timeout, context.DeadlineExceeded))
		defer cancel()
	}
	token, err := f.readToken()
	if err != nil {
		return err
	}
	server := cmp.Or(f.server, os.Getenv(serverVariable))
	if server == "" {
		return f.withStore(ctx, p, cmd, token, do)
	}
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return shell.Misuse(cmd, errors.New("--server: it must be a URL such as http://localhost:8080, without a user"))
	}
	if token != "" && !f.plainHTTP && access.InClear(u) {
		return shell.Misuse(cmd, errors.New("--server: it would be shown the token in the clear; use https, or give --plain-http if the network encrypts"))
	}
	return do(ctx, &service{url: strings.TrimSuffix(server, "/"), token: token, client: &http.Client{CheckRedirect: access.KeepOrigin}})
}

// readToken reads the token for the service.
func (f *serviceFlags) readToken() (string, error) {
	if f.tokenFile == "" {
		return os.Getenv(tokenVariable), nil
	}
	text, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// withStore calls do with a worker in this process. A process that can open the
// store needs no token: without one, withStore makes one that only it knows.
func (f *serviceFlags) withStore(ctx context.Context, p *program.Program, cmd *cobra.Command, token string, do func(context.Context, *service) error) error {
	return p.WithHome(ctx, cmd, func(s *settings.Settings, h program.Home) error {
		o := program.WorkerOptions(s, p.Logger())
		o.Rate, o.AdminApart = 0, false
		o.BatchSize, o.MaxBatch, o.PrefetchThreshold, o.BatchDuration = 1, 1, 0, 0 // what is left would be a gap
		if token == "" {
			o.AdminToken = rand.Text()
			token = o.AdminToken
		}
		w, err := worker.New(h, o, worker.Hooks{})
		if err != nil {
			return err
		}
		err = do(ctx, &service{url: "http://store", token: token, client: &http.Client{Transport: inProcess{w}}, direct: w})
		return errors.Join(err, w.Close(ctx))
	})
}

// namesServer reports whether the flags or the environment name a server.
func (f *serviceFlags) namesServer() bool { return cmp.Or(f.server, os.Getenv(serverVariable)) != "" }

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
