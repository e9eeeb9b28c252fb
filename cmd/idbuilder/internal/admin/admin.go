// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// Commands returns the commands of operators.
func Commands(p *program.Program) []*cobra.Command {
	return []*cobra.Command{
		workersCommand(p), settingsCommand(p), configCommand(p), tokenCommand(p), idCommand(p),
		migrateCommand(p), importCommand(p), storeCommand(p),
	}
}

func idCommand(p *program.Program) *cobra.Command {
	var at serviceFlags
	var size int
	cmd := &cobra.Command{
		Use: "id {increment|formatted|snowflake} key", Short: "Get IDs", Args: shell.Arguments(cobra.ExactArgs(2)), ValidArgs: types,
		Long:    "Get IDs of a key, a line each; of a snowflake key the layout and a worker id.\n" + aboutService,
		Example: "  idbuilder id increment orders -n 3 --server http://localhost:8080",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(types, args[0]) {
				return shell.Misuse(cmd, fmt.Errorf("there is no type %q: it is one of %s", args[0], strings.Join(types, ", ")))
			}
			return at.withService(p, cmd, func(ctx context.Context, s *service) error { return writeIDs(ctx, p, s, args[0], args[1], size) })
		},
	}
	at.addTo(cmd)
	cmd.Flags().IntVarP(&size, "size", "n", 1, "`number` of IDs, 1 to 1000")
	return cmd
}

// writeIDs gets and writes IDs.
func writeIDs(ctx context.Context, p *program.Program, s *service, kind, key string, size int) error {
	query := url.Values{"key": {key}}
	if kind == "snowflake" {
		var lease parameters
		if err := s.call(ctx, http.MethodGet, "/v1/id/snowflake", query, nil, &lease); err != nil {
			return err
		}
		return p.Write(lease)
	}
	query.Set("size", strconv.Itoa(size))
	if kind == "increment" {
		var data api.Numbers
		err := s.call(ctx, http.MethodGet, "/v1/id/increment", query, nil, &data)
		return writeEach(p, err, len(data.ID), func(i int) any { return data.ID[i] })
	}
	var data api.Texts
	err := s.call(ctx, http.MethodGet, "/v1/id/formatted", query, nil, &data)
	return writeEach(p, err, len(data.ID), func(i int) any { return data.ID[i] })
}

func writeEach(p *program.Program, err error, n int, id func(int) any) error {
	for i := 0; i < n && err == nil; i++ {
		err = p.Write(oneID{id(i)})
	}
	return err
}

// oneID is an ID: a number or a text.
type oneID struct {
	ID any `json:"id"`
}

func (i oneID) Lines() []string { return []string{fmt.Sprint(i.ID)} }

func settingsCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{
		Use: "settings", Short: "List the settings, their values and where they come from", Args: shell.Arguments(cobra.NoArgs),
		Long: `List all settings: what they are, what is allowed, their values as the file, the environment
and flags make them, and where each was set. Passwords are not shown.

The setting server.port is the key port in the section [server] of the file, the variable
IDBUILDER__SERVER__PORT, and the flag --server.port. Tokens, and URLs with passwords, are not
taken from flags, which other users of the machine can see.`,
		Example: "  idbuilder settings --config idbuilder.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.Settings(cmd)
			if err != nil {
				return err
			}
			for _, k := range settings.Keys() {
				if err := p.Write(setting{Key: k.Path, Value: s.Show(k.Path), Origin: s.Origin(k.Path), Default: k.Default, Allowed: k.Allowed, About: k.About}); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// setting is a line of the list.
type setting struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Origin  string `json:"origin,omitempty"`
	Default string `json:"default"`
	Allowed string `json:"allowed"`
	About   string `json:"about"`
}

func (s setting) Lines() []string {
	return []string{
		strings.TrimSpace(fmt.Sprintf("%s = %s  (%s)", s.Key, s.Value, cmp.Or(s.Origin, "default"))),
		fmt.Sprintf("    %s; allowed: %s", s.About, s.Allowed),
	}
}
