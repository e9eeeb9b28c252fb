// SPDX-License-Identifier: Apache-2.0

package idbuilderd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// types are the kinds of IDs.
var types = []string{"increment", "snowflake", "formatted"}

func (c *command) config() *cobra.Command {
	return shell.Group("config", "List, show, set and delete configurations of IDs", c.configList(), c.configGet(), c.configSet(), c.configDelete())
}

func (c *command) configList() *cobra.Command {
	var at serviceFlags
	cmd := &cobra.Command{
		Use: "list [prefix]", Short: "List configurations", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long:    "List the configurations whose keys begin with the prefix, or all, in the order of their keys.\n" + aboutService,
		Example: "  idbuilder config list orders --server http://localhost:8080 --token-file token",
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.with(c, cmd, func(ctx context.Context, s *service) error {
				return s.eachConfig(ctx, strings.Join(args, ""), func(item api.Summary) error { return c.Write(summary{item}) })
			})
		},
	}
	at.add(cmd)
	return cmd
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

// summary is a line of the list.
type summary struct{ api.Summary }

func (s summary) Lines() []string {
	return []string{strings.TrimSpace(fmt.Sprintf("%-9s  %s  %s", s.IDType, s.Key, s.Name))}
}

func (c *command) configGet() *cobra.Command {
	var at serviceFlags
	cmd := &cobra.Command{
		Use: "get key", Short: "Show a configuration", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long:    "Show a configuration, with what its sequence has reached, or a sample of its IDs.\n" + aboutService,
		Example: "  idbuilder config get orders --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.with(c, cmd, func(ctx context.Context, s *service) error {
				kind, err := s.typeOf(ctx, args[0])
				if err != nil {
					return err
				}
				var data parameters
				if err := s.call(ctx, http.MethodGet, "/v1/config/"+kind, url.Values{"key": args}, nil, &data); err != nil {
					return err
				}
				data["id_type"] = json.RawMessage(strconv.Quote(kind))
				return c.Write(data)
			})
		},
	}
	at.add(cmd)
	return cmd
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

// parameters are those of a configuration, as JSON.
type parameters map[string]json.RawMessage

// Lines implements [shell.Result]: key, name and id_type first.
func (p parameters) Lines() []string {
	names := slices.Sorted(maps.Keys(p))
	first := map[string]int{"key": -3, "name": -2, "id_type": -1}
	slices.SortStableFunc(names, func(a, b string) int { return first[a] - first[b] })
	var pairs []any
	for _, name := range names {
		value := string(p[name])
		var text string
		if json.Unmarshal(p[name], &text) == nil {
			value = shell.Word(text)
		}
		pairs = append(pairs, name, value)
	}
	return shell.Fields(pairs...)
}

func (c *command) configSet() *cobra.Command {
	var at serviceFlags
	var create bool
	cmd := &cobra.Command{
		Use: "set {increment|snowflake|formatted} key [name=value...]", Short: "Create or change a configuration",
		Args: shell.Arguments(cobra.MinimumNArgs(2)), ValidArgs: types,
		Long: `Create or change a configuration. Parameters are those of the service's API, as name=value; a value
is JSON, or else text. With - instead of them, they are a JSON object in the input. A change by which an
ID could come twice is refused, unless force=true is among them.
` + aboutService,
		Example: `  idbuilder config set increment orders base=1000
  idbuilder config set formatted invoices pattern=INV{YYYY}-{SEQ:6} sequence_reset=yearly
  idbuilder config set snowflake events base_ts=1735689600000 ts_size=41 worker_id_size=10 seq_size=12
  idbuilder config set formatted tickets - < parts.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := c.configBody(cmd, args[0], args[1], args[2:], create)
			if err != nil {
				return err
			}
			return at.with(c, cmd, func(ctx context.Context, s *service) error {
				var data parameters
				if err := s.call(ctx, http.MethodPost, "/v1/config/"+args[0], nil, body, &data); err != nil || len(data) == 0 {
					return err
				}
				return c.Write(data)
			})
		},
	}
	at.add(cmd)
	cmd.Flags().BoolVar(&create, "create", false, "refuse to change a configuration that exists (with the deployed worker's parameters)")
	return cmd
}

// deployedOnly are parameters that only the deployed worker's dialect has, in which a
// configuration has a name and no key.
var deployedOnly = []string{"start", "step", "pattern", "sequence_reset", "epoch", "worker_bits", "sequence_bits"}

// configBody returns the body of a request that sets a configuration.
func (c *command) configBody(cmd *cobra.Command, kind, key string, args []string, create bool) ([]byte, error) {
	if !slices.Contains(types, kind) {
		return nil, shell.Misuse(cmd, fmt.Errorf("there is no type %q: it is one of %s", kind, strings.Join(types, ", ")))
	}
	body := parameters{}
	if len(args) == 1 && args[0] == "-" {
		text, err := io.ReadAll(c.In)
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err != nil {
			return nil, shell.Invalid(fmt.Errorf("the input is no JSON object: %w", err))
		}
		args = nil
	}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "key" {
			return nil, shell.Misuse(cmd, fmt.Errorf("%q is not name=value", arg))
		}
		body[name] = asJSON(value)
	}
	return body.with(key, create)
}

// with adds the key.
func (p parameters) with(key string, create bool) ([]byte, error) {
	speaksDeployed := slices.ContainsFunc(deployedOnly, func(name string) bool { _, ok := p[name]; return ok })
	if create && !speaksDeployed {
		return nil, shell.Invalid(errors.New("--create goes with the deployed worker's parameters: " + strings.Join(deployedOnly, ", ")))
	}
	name := "key"
	if create {
		name = "name"
	}
	text, err := json.Marshal(key)
	p[name] = text
	body, failed := json.Marshal(p)
	return body, errors.Join(err, failed)
}

// asJSON returns a value as it is if it is JSON, and as a JSON string otherwise.
func asJSON(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	text, _ := json.Marshal(value) // of a string: no error
	return text
}

func (c *command) configDelete() *cobra.Command {
	var at serviceFlags
	cmd := &cobra.Command{
		Use: "delete key", Short: "Delete a configuration", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long:    "Delete a configuration. What it has given is remembered: if the key comes back, its numbers go on.\n" + aboutService,
		Example: "  idbuilder config delete orders",
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.with(c, cmd, func(ctx context.Context, s *service) error {
				kind, err := s.typeOf(ctx, args[0])
				if err != nil {
					return err
				}
				return s.call(ctx, http.MethodDelete, "/v1/config/"+kind, url.Values{"key": args}, nil, nil)
			})
		},
	}
	at.add(cmd)
	return cmd
}
