// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/placement"
)

func showActorCommand(c *shell.Console) *cobra.Command {
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
			keys, err := parseActorKeys(args)
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

func parseActorKeys(args []string) ([]placement.Key, error) {
	keys := make([]placement.Key, len(args))
	for i, arg := range args {
		var err error
		if keys[i], err = placement.ParseKey(arg); err != nil {
			return nil, shell.Invalid(err)
		}
	}
	return keys, nil
}

// whereabouts explains the place of a key.
type whereabouts struct {
	rowLine
	State      string      `json:"state"`            // never, free, claimed, active or abandoned
	Since      *time.Time  `json:"since,omitempty"`  // of the activation, by its owner's clock
	Topology   int64       `json:"currentTopology"`  // 0: there is none
	Strategy   string      `json:"strategy"`         //
	Chosen     string      `json:"chosen,omitempty"` // by the current topology
	Candidates []candidate `json:"candidates"`       // all members
	Reason     string      `json:"reason"`           // in words
}

type candidate struct {
	Member   string `json:"member"`
	Address  string `json:"address"`
	Eligible bool   `json:"eligible"`
	Reason   string `json:"reason,omitempty"`
	Score    string `json:"score,omitempty"` // 16 hexadecimal digits
	Load     int64  `json:"load"`
}

// The states of a key.
const (
	stateNever     = "never"     // no member has had it
	stateFree      = "free"      // no member has it
	stateClaimed   = "claimed"   // a member is making it active, or has failed to
	stateActive    = "active"    // a member that is alive has it
	stateAbandoned = "abandoned" // a member that is dead has it
)

func stateOf(row kvstore.Row, entry *core.ActivationEntry, alive bool) string {
	switch {
	case row.Epoch == 0:
		return stateNever
	case row.Free():
		return stateFree
	case !alive:
		return stateAbandoned
	case entry == nil || entry.Owner != row.Owner || entry.Epoch != row.Epoch:
		return stateClaimed
	}
	return stateActive
}

// chooseMember sets the members that can have the key, and the one that a client with this
// topology chooses.
func (w *whereabouts) chooseMember(key placement.Key, t placement.Topology) error {
	now := time.Now()
	c, err := core.NewCoordinator(core.Options{Self: placement.Owner{Name: "kazahana", Incarnation: 1}})
	if err != nil {
		return err
	}
	if _, err := c.StartClient(now); err != nil {
		return err
	}
	if t.Version > 0 {
		if _, err := c.UpdateTopology(t, now); err != nil {
			return err
		}
	}
	e := c.Explain(key, now)
	if e.Err == nil {
		w.Chosen = e.Decision.Authority.String()
	}
	w.Candidates = make([]candidate, len(e.Candidates))
	for i, m := range e.Candidates {
		w.Candidates[i] = candidate{Member: m.Owner.String(), Address: m.Address, Eligible: m.Eligible, Reason: m.Reason, Load: m.Load}
		if m.Eligible {
			w.Candidates[i].Score = fmt.Sprintf("%016x", m.Score)
		}
	}
	return nil
}

// explainPlace explains in words why the key is where it is, and where it goes.
func (w *whereabouts) explainPlace(row kvstore.Row) string {
	next := "no member can have it now"
	switch {
	case w.Topology == 0:
		next = "no host has ever joined below this --path"
	case w.Chosen != "":
		next = fmt.Sprintf("the next call makes it active on %s, under a greater epoch", w.Chosen)
	}
	switch {
	case w.State == stateNever:
		return "no member has ever had it; " + next
	case w.State == stateFree:
		return fmt.Sprintf("no member has it since the activation of epoch %d has ended; %s", row.Epoch, next)
	case w.State == stateAbandoned:
		return fmt.Sprintf("%s, which is dead, had it; %s", row.Owner, next)
	case w.State == stateClaimed:
		return fmt.Sprintf("%s has claimed it by topology %d and not confirmed that it is active: it is being made, or that failed", row.Owner, row.Topology)
	case w.Chosen == w.Owner:
		return fmt.Sprintf("topology %d has chosen %s, and topology %d chooses it, too", row.Topology, row.Owner, w.Topology)
	case w.Chosen == "":
		return fmt.Sprintf("topology %d has chosen %s; by topology %d no member can get it", row.Topology, row.Owner, w.Topology)
	}
	return fmt.Sprintf("topology %d has chosen %s; topology %d chooses %s, to which it moves when it is used next", row.Topology, row.Owner, w.Topology, w.Chosen)
}

func (w whereabouts) Lines() []string {
	pairs := []any{"actor", shell.Word(w.Key), "state", w.State}
	if w.Owner != "" {
		pairs = append(pairs, "owner", shell.Word(w.Owner)+" at "+shell.Word(w.Address), "claimed by", "topology "+strconv.FormatInt(w.rowLine.Topology, 10))
	}
	if w.Since != nil {
		pairs = append(pairs, "active since", shell.Stamp(*w.Since))
	}
	if w.Epoch > 0 {
		pairs = append(pairs, "epoch", w.Epoch)
	}
	pairs = append(pairs, "topology", w.Topology, "strategy", w.Strategy, "why", w.Reason)
	for _, m := range w.Candidates {
		pairs = append(pairs, "candidate", m.line())
	}
	return shell.Fields(pairs...)
}

func (m candidate) line() string {
	text := shell.Word(m.Member) + " at " + shell.Word(m.Address)
	if m.Score != "" {
		text += " score " + m.Score
	}
	if m.Reason != "" {
		text += ": " + m.Reason
	}
	return text
}
