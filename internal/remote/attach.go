// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/access"
)

// AttachOptions say where a database is served.
type AttachOptions struct {
	URL   string // of the page over the database, which may end with a slash
	Token string // that opens the page
	Write bool   // fail if commits may not write
}

// Path is where a page serves the database, below its own.
const Path = "/transactions"

// attachWithin is how long a program may take to answer.
const attachWithin = 10 * time.Second

// Attach connects to a program that serves the database which it has open. Transactions that begin after the connection is
// lost make another one. The error does not name the token.
func Attach(ctx context.Context, o AttachOptions) (*Database, error) {
	at, err := url.Parse(strings.TrimSuffix(o.URL, "/") + Path)
	switch {
	case err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "":
		return nil, errors.New("it is not a URL such as http://localhost:8081/studio/")
	case at.RawQuery != "" || at.Fragment != "" || at.User != nil:
		return nil, errors.New("it has more than scheme, host and path: the token is not a part of it")
	case access.InClear(at):
		return nil, fmt.Errorf("the token would go to %s unencrypted: use https, or a tunnel (ssh -L)", at.Host)
	}
	d := &Database{about: "the program at " + at.Host}
	d.dial = func() (io.ReadWriteCloser, error) {
		within, cancel := context.WithTimeoutCause(ctx, attachWithin, fmt.Errorf("%s has not answered within %v", d.about, attachWithin))
		defer cancel()
		conn, header, err := upgrade(within, at, o)
		d.engine = header.Get(engineHeader)
		return conn, err
	}
	_, err = d.connect()
	ctx = context.WithoutCancel(ctx) // later connections are for other calls
	if err != nil {
		return nil, err
	}
	return d, nil
}

// upgrade makes a request, and returns its connection.
func upgrade(ctx context.Context, at *url.URL, o AttachOptions) (io.ReadWriteCloser, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", protocol)
	r.Header.Set("Authorization", "Bearer "+o.Token)
	client := &http.Client{CheckRedirect: access.KeepOrigin, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, Protocols: onlyHTTP1(), // a request over HTTP/2 has no connection of its own
	}}
	defer client.CloseIdleConnections() // one that was not upgraded
	answer, err := client.Do(r)
	if err != nil {
		if ended := context.Cause(ctx); ended != nil {
			err = ended
		}
		return nil, nil, err
	}
	if err := refusal(answer, o); err != nil {
		return nil, nil, errors.Join(err, answer.Body.Close())
	}
	return answer.Body.(io.ReadWriteCloser), answer.Header, nil // it is one if the status is 101
}

func onlyHTTP1() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

// refusal returns why a program does not serve its database; nil if it does.
func refusal(answer *http.Response, o AttachOptions) error {
	switch {
	case answer.StatusCode == http.StatusSwitchingProtocols && o.Write && answer.Header.Get(writesHeader) != "true":
		return errors.New("the program serves its database for reading only: it must set studio.Options.Write, or kazahana ui must have --write")
	case answer.StatusCode == http.StatusSwitchingProtocols:
		return nil
	case access.RedirectOrigin(answer) != "":
		return fmt.Errorf("the answer is a redirect to %s: name that URL", access.RedirectOrigin(answer))
	case answer.StatusCode == http.StatusNotFound, strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html"): // a page for browsers
		return fmt.Errorf("there is no page over a database at this URL (%d): is it the one that a browser opens, without the name of a view?", answer.StatusCode)
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 500)) // what is there counts
	return fmt.Errorf("the answer is %s: %s", answer.Status, strings.TrimSpace(string(text)))
}
