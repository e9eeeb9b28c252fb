// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/shell"
)

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
