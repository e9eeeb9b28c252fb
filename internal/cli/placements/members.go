// SPDX-License-Identifier: Apache-2.0

package placements

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// memberLine is a member in a listing.
type memberLine struct {
	Member   string            `json:"member"` // name#incarnation
	Address  string            `json:"address"`
	Kinds    []string          `json:"kinds"`
	Labels   map[string]string `json:"labels,omitempty"`
	Draining bool              `json:"draining"`
	Load     int64             `json:"load"`
	Topology int64             `json:"topology"`
}

func (m memberLine) Lines() []string {
	state := "alive"
	if m.Draining {
		state = "draining"
	}
	return []string{fmt.Sprintf("%-20s %-8s %-21s load %-8d kinds %s%s", shell.Word(m.Member), state, shell.Word(m.Address), m.Load, kindsText(m.Kinds), shell.Pairs(m.Labels))}
}

func kindsText(kinds []string) string {
	if len(kinds) == 0 {
		return "none"
	}
	return strings.Join(kinds, ",")
}

func membersCommand(c *shell.Console) *cobra.Command {
	var at hostFlags
	cmd := &cobra.Command{
		Use: "members", Short: "List the members that hold virtual actors", Args: shell.Arguments(cobra.NoArgs),
		Long: `List the members of the newest topology. One that was killed is listed until the others have
observed that it is dead.
` + database.About,
		Example: "  kazahana placement members --cluster-file /etc/foundationdb/fdb.cluster",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.withActors(cmd, func(ctx context.Context, p *actors) error {
				t, err := p.usedTopology(ctx)
				if err != nil {
					return err
				}
				for _, m := range t.Members {
					line := memberLine{m.Owner.String(), m.Address, m.Kinds, m.Labels, m.Draining, m.Load, t.Version}
					if err := c.Write(line); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	at.addTo(cmd)
	return cmd
}
