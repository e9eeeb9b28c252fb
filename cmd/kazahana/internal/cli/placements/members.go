// SPDX-License-Identifier: Apache-2.0

package placements

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
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

func forgetCommand(c *shell.Console) *cobra.Command {
	var at hostFlags
	cmd := &cobra.Command{
		Use: "forget-members", Short: "Make a copy of a database forget the members of the original", Args: shell.Arguments(cobra.NoArgs),
		Long: `Remove all members from a copy of a database, and give the copy a cluster id of its own. Use it in each
copy and after each restore, before the first host starts there. The copy lists the members of the original, so
that hosts and clients on it could call those, and has its cluster id, so that they would answer.

Do not use it on the original: each host there would lose its membership, end its actors, and join
again. The command shows the members, and asks.
` + database.About,
		Example: "  kazahana placement forget-members --cluster-file restored.cluster\n  kazahana placement forget-members --db data-restored --yes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := database.ReadKeys(cmd, func(ctx context.Context, db kv.Database) error {
				p, err := at.openActors(db)
				if err != nil {
					return err
				}
				t, err := p.usedTopology(ctx)
				if err != nil {
					return err
				}
				return c.Confirm(cmd, membersToForget(t, p.unread), "Forget all members, and give the cluster a new id?")
			})
			if err != nil {
				return err
			}
			return database.WriteKeys(cmd, func(ctx context.Context, db kv.Database) error {
				p, err := at.openActors(db)
				if err != nil {
					return err
				}
				n, err := p.members.Forget(ctx)
				if err != nil && !errors.As(err, new(*leasefdb.StateError)) { // of leases that it has passed over
					return err
				}
				return errors.Join(err, c.Write(forgotten{n}))
			})
		},
	}
	at.addTo(cmd)
	shell.AddYes(cmd)
	return cmd
}

// membersToForget says which members there are, and which of their rows cannot be read.
func membersToForget(t placement.Topology, unread error) (lines []string) {
	for _, m := range t.Members {
		lines = append(lines, fmt.Sprintf("the member %s at %s", shell.Word(m.Owner.String()), shell.Word(m.Address)))
	}
	if unread != nil {
		lines = append(lines, strings.Split(unread.Error(), "\n")...)
	}
	if len(lines) == 0 {
		lines = []string{"there are no members"}
	}
	return lines
}

// forgotten says how many members were removed.
type forgotten struct {
	Members int `json:"members"`
}

// Lines implements [shell.Result].
func (f forgotten) Lines() []string {
	members := "members"
	if f.Members == 1 {
		members = "member"
	}
	return []string{fmt.Sprintf("forgot %d %s; the cluster has a new id", f.Members, members)}
}
