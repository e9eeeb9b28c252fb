// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/nearest"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
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

// AboutServices describes the file of --services-file.
const AboutServices = `
--epoch, --bits and --duration are those of every service. The JSON file --services-file has the services
that differ; the flags give the values that a service leaves out:
  {"payments": {"bits": "1+41+12+10", "duration": "1h"}, "audit": {"epoch": "2025-01-01T00:00:00Z"}}`

// serviceEntry is the entry of a service in the file.
type serviceEntry struct {
	Epoch    string `json:"epoch"`
	Bits     string `json:"bits"`
	Duration string `json:"duration"`
}

// readServices reads the file of services; nil if its name is empty.
func readServices(file string, otherwise lease.ServiceConfig) (map[string]lease.ServiceConfig, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--services-file: %w", err)
	}
	var entries map[string]serviceEntry
	if err := decodeStrictly(text, &entries); err != nil {
		return nil, shell.Invalid(fmt.Errorf("--services-file %s: %w", file, err))
	}
	services := map[string]lease.ServiceConfig{}
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		config, err := entries[id].withEntry(otherwise)
		if err == nil {
			err = lease.Options{Services: map[string]lease.ServiceConfig{id: config}}.Validate()
		}
		if err != nil {
			return nil, shell.Invalid(fmt.Errorf("--services-file %s: service %q: %w", file, id, err))
		}
		services[id] = config
	}
	return services, nil
}

// withEntry returns otherwise with the settings of the entry.
func (e serviceEntry) withEntry(otherwise lease.ServiceConfig) (config lease.ServiceConfig, err error) {
	config = otherwise
	if e.Epoch != "" {
		if config.Layout.CustomEpoch, err = ParseEpoch(e.Epoch); err != nil {
			return config, fmt.Errorf("epoch %q: %w", e.Epoch, err)
		}
	}
	if e.Bits != "" {
		if config.Layout, err = ParseBits(config.Layout.CustomEpoch, e.Bits); err != nil {
			return config, fmt.Errorf("bits %q: %w", e.Bits, err)
		}
	}
	if e.Duration != "" {
		if config.Duration, err = time.ParseDuration(e.Duration); err != nil {
			return config, fmt.Errorf("duration %q: it is not a duration such as 10m or 1h30m", e.Duration)
		}
	}
	return config, nil
}

// decodeStrictly reads one JSON value of a configuration. The error for an unknown key names
// the nearest known one.
func decodeStrictly(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil {
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			return errors.New("there is more after its JSON value")
		}
		return nil
	}
	quoted, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !unknown {
		return fmt.Errorf("it is not the expected JSON: %w", err)
	}
	keys := keysOf(reflect.TypeOf(v))
	meant, _ := nearest.Word(strings.Trim(quoted, `"`), keys)
	return fmt.Errorf("there is no key %s: did you mean %q? There is %s", quoted, meant, strings.Join(keys, ", "))
}

// keysOf returns the keys of JSON objects of a type, or of its elements.
func keysOf(t reflect.Type) (keys []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = strings.ToLower(field.Name[:1]) + field.Name[1:]
		}
		keys = append(keys, name)
	}
	return keys
}
