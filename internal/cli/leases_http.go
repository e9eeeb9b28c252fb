// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	leasehttp "github.com/kazahana-db/kazahana/lease/http"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// openHTTP leases from a lease server.
func openHTTP(_ context.Context, o openOptions) (*leases, error) {
	client, err := leasehttp.NewClient(leasehttp.ClientOptions{URL: o.at, Token: o.token, PlainHTTP: o.plainHTTP})
	if err != nil {
		return nil, shell.Invalid(err)
	}
	return &leases{provider: client, list: client.List, services: client.Services, close: func() error { return nil }}, nil
}

// readToken returns the token of a file, or of the environment; "" if there is
// none.
func readToken(file string) (string, error) {
	if file == "" {
		return os.Getenv(tokenVariable), nil
	}
	text, err := readTokenFile(file)
	return string(text), err
}

// readTokens returns the tokens that a server accepts: the one that readToken
// returns, which may do everything, or those that the file has in JSON.
func readTokens(file string) ([]leasehttp.Token, error) {
	text := []byte(os.Getenv(tokenVariable))
	if file != "" {
		var err error
		if text, err = readTokenFile(file); err != nil {
			return nil, err
		}
	}
	switch {
	case len(text) == 0:
		return nil, nil
	case text[0] != '[':
		return []leasehttp.Token{{Name: "token", Secret: string(text), List: true}}, nil
	}
	var tokens []leasehttp.Token
	if err := strictly(text, &tokens); err != nil {
		return nil, shell.Invalid(fmt.Errorf("--token-file %s: %w", file, err))
	}
	if len(tokens) == 0 {
		return nil, shell.Invalid(fmt.Errorf("--token-file %s has no token", file))
	}
	return tokens, nil
}

func readTokenFile(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--token-file: %w", err)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil, shell.Invalid(errors.New("--token-file " + file + " is empty"))
	}
	return text, nil
}
