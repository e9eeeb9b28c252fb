// SPDX-License-Identifier: Apache-2.0

package placements

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/placement"
)

func showCommand(c *shell.Console) *cobra.Command {
	var at hostFlags
	cmd := &cobra.Command{
		Use: "show KIND/ID...", Short: "Say why a virtual actor is where it is", Args: shell.Arguments(cobra.MinimumNArgs(1)),
		Long: `Say why a virtual actor is where it is: who has it, since which topology and under which epoch,
whether that member is alive, which members could have it, and which of them would be chosen now.

The state is one of
  never      no member has had it
  free       its activation has ended
  claimed    a member is about to make it active, or has failed to
  active     a member that is alive has it
  abandoned  the member that had it is dead, and it was not called since

Scores are those of rendezvous hashing, the default strategy. A program that uses another one tells
what that would choose: Host.Explain.
` + database.About,
		Example: "  kazahana placement show account/alice --cluster-file /etc/foundationdb/fdb.cluster\n  kazahana placement show account/alice --db data --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := parseKeys(args)
			if err != nil {
				return err
			}
			return at.withActors(cmd, func(ctx context.Context, p *actors) error {
				for _, key := range keys {
					why, err := p.findActor(ctx, key)
					if err != nil {
						return err
					}
					if err := c.Write(why); err != nil {
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

func parseKeys(args []string) ([]placement.Key, error) {
	keys := make([]placement.Key, len(args))
	for i, arg := range args {
		var err error
		if keys[i], err = placement.ParseKey(arg); err != nil {
			return nil, shell.Invalid(err)
		}
	}
	return keys, nil
}
