// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/kazahana-db/kazahana/internal/shell"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
)

// TokenVariable is the environment variable of the token of a lease server.
const TokenVariable = "KAZAHANA_TOKEN"

// readToken returns the token of a file, or of the environment; "" if there is
// none.
func readToken(file string) (string, error) {
	if file == "" {
		return os.Getenv(TokenVariable), nil
	}
	text, err := readTokenFile(file)
	return string(text), err
}

// ReadTokens returns the tokens that a server accepts: the one that readToken
// returns, which may do everything, or those that the file has in JSON.
func ReadTokens(file string) ([]leasehttp.Token, error) {
	text := []byte(os.Getenv(TokenVariable))
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
	if err := decodeStrictly(text, &tokens); err != nil {
		return nil, shell.Invalid(fmt.Errorf("--token-file %s: %w", file, err))
	}
	if len(tokens) == 0 {
		return nil, shell.Invalid(fmt.Errorf("--token-file %s has no token", file))
	}
	if err := checkServices(text); err != nil {
		return nil, shell.Invalid(fmt.Errorf("--token-file %s: %w", file, err))
	}
	return tokens, nil
}

// checkServices refuses lists of services that are null: programs write so a list that is empty, and
// a token without a list is for every service. An empty list is refused by the server.
func checkServices(text []byte) error {
	var tokens []struct {
		Name     string
		Services json.RawMessage
	}
	if err := json.Unmarshal(text, &tokens); err != nil {
		return err
	}
	for _, t := range tokens {
		if string(t.Services) == "null" {
			return fmt.Errorf("token %q: the list of its services is null; name those that it may lease for, or leave the list out if it may lease for every one", t.Name)
		}
	}
	return nil
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
