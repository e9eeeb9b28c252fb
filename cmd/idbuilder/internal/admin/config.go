// SPDX-License-Identifier: Apache-2.0

package admin

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

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/deployed"
	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// types are the kinds of IDs.
var types = []string{"increment", "snowflake", "formatted"}

func configCommand(p *program.Program) *cobra.Command {
	return shell.Group("config", "List, show, set, delete and advance configurations of IDs", configListCommand(p), configGetCommand(p), configSetCommand(p), configDeleteCommand(p), configAdvanceCommand(p))
}

func configListCommand(p *program.Program) *cobra.Command {
	return serviceCommand(p, &cobra.Command{
		Use: "list [prefix]", Short: "List configurations", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long:    "List the configurations of the keys that begin with the prefix, or all, in the order of their keys.\n",
		Example: "  idbuilder config list orders --server http://localhost:8080 --token-file token",
	}, func(ctx context.Context, s *service, args []string) error {
		return s.eachConfig(ctx, strings.Join(args, ""), func(item api.Summary) error { return p.Write(summary{item}) })
	})
}

// summary is a line of the list.
type summary struct{ api.Summary }

func (s summary) Lines() []string {
	return []string{strings.TrimSpace(fmt.Sprintf("%-9s  %s  %s", s.IDType, s.Key, s.Name))}
}

func configGetCommand(p *program.Program) *cobra.Command {
	return serviceCommand(p, &cobra.Command{
		Use: "get key", Short: "Show a configuration", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long:    "Show a configuration, with what its sequence has reached, or a sample of its IDs.\n",
		Example: "  idbuilder config get orders --json",
	}, func(ctx context.Context, s *service, args []string) error {
		kind, err := s.typeOf(ctx, args[0])
		if err != nil {
			return err
		}
		var data parameters
		if err := s.call(ctx, http.MethodGet, "/v1/config/"+kind, url.Values{"key": args}, nil, &data); err != nil {
			return err
		}
		if data == nil {
			return fmt.Errorf("%s answers without the configuration: is it an ID service?", s.url)
		}
		data["id_type"] = json.RawMessage(strconv.Quote(kind))
		return p.Write(data)
	})
}

func configDeleteCommand(p *program.Program) *cobra.Command {
	return serviceCommand(p, &cobra.Command{
		Use: "delete key", Short: "Delete a configuration", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long:    "Delete a configuration. A key that is created again continues after the numbers that it gave before.\n",
		Example: "  idbuilder config delete orders",
	}, func(ctx context.Context, s *service, args []string) error {
		kind, err := s.typeOf(ctx, args[0])
		if err != nil {
			return err
		}
		return s.call(ctx, http.MethodDelete, "/v1/config/"+kind, url.Values{"key": args}, nil, nil)
	})
}

func configSetCommand(p *program.Program) *cobra.Command {
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
			body, err := requestBody(p, cmd, args[0], args[1], args[2:], create)
			if err != nil {
				return err
			}
			return at.withService(p, cmd, func(ctx context.Context, s *service) error {
				var data parameters
				if err := s.call(ctx, http.MethodPost, "/v1/config/"+args[0], nil, body, &data); err != nil || len(data) == 0 {
					return err
				}
				return p.Write(data)
			})
		},
	}
	at.addTo(cmd)
	cmd.Flags().BoolVar(&create, "create", false, "refuse to change a configuration that exists (with the deployed worker's parameters)")
	return cmd
}

// requestBody returns the body of a request that sets a configuration.
func requestBody(p *program.Program, cmd *cobra.Command, kind, key string, args []string, create bool) ([]byte, error) {
	if !slices.Contains(types, kind) {
		return nil, shell.Misuse(cmd, fmt.Errorf("there is no type %q: it is one of %s", kind, strings.Join(types, ", ")))
	}
	body := parameters{}
	if len(args) == 1 && args[0] == "-" {
		text, err := io.ReadAll(p.In)
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err == nil && body == nil {
			err = errors.New("it is null")
		}
		if err != nil {
			return nil, shell.Invalid(fmt.Errorf("the input is not a JSON object: %w", err))
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
	return body.encode(key, create)
}

func importCommand(p *program.Program) *cobra.Command {
	var (
		o    deployed.Options
		next map[string]string
		dry  bool
	)
	cmd := &cobra.Command{
		Use: "import folder", Short: "Take over the keys of a deployed worker's file store", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Take over the keys of a deployed worker's file store, the folder with sequences and configs, into the
store that the settings name. Stop the old worker first.

Numbers continue --margin steps after those of the folder, which is at least the old worker's batch
size, in case the folder is an older copy of it. Keys that the store has already are refused, unless an
earlier run of this command made them. The old worker keeps tokens in memory: there are none to take over.

A sequence that is missing or torn is refused: look up the newest ID that was given, and say with --next which
number comes next; or leave the key out with --skip.`,
		Example: "  idbuilder import ./data --dry-run --config idbuilder.toml\n  idbuilder import ./data --next orders=15300",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Margin < 1 {
				return shell.Misuse(cmd, errors.New("--margin: it must be 1 or more"))
			}
			plan, err := planImport(cmd, args[0], o, next)
			if err != nil {
				return err
			}
			return p.WithHome(cmd.Context(), cmd, func(_ *settings.Settings, h program.Home) error {
				return applyImport(cmd.Context(), p, h, plan, dry)
			})
		},
	}
	cmd.Flags().Int64Var(&o.Margin, "margin", 1000, "`number` of steps to leave out of each sequence")
	cmd.Flags().StringToStringVar(&next, "next", nil, "`key=number` that comes next")
	cmd.Flags().StringSliceVar(&o.Skip, "skip", nil, "`key` to leave out")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "check, and show what would be done")
	return cmd
}

func planImport(cmd *cobra.Command, dir string, o deployed.Options, next map[string]string) (*deployed.Plan, error) {
	o.Next = map[string]int64{}
	for key, text := range next {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, shell.Misuse(cmd, fmt.Errorf("--next %s=%s: it must be a whole number", key, text))
		}
		o.Next[key] = n
	}
	folder, err := deployed.Read(dir)
	if err != nil {
		return nil, shell.Invalid(err)
	}
	plan, err := folder.Plan(o)
	if err != nil {
		return nil, shell.Invalid(err)
	}
	return plan, nil
}

// applyImport applies a plan, or only checks it, and shows the result for each key.
func applyImport(ctx context.Context, p *program.Program, h program.Home, plan *deployed.Plan, dry bool) error {
	apply := plan.Apply
	if dry {
		apply = plan.Check
	}
	done, err := apply(ctx, h)
	if err != nil {
		return shell.Invalid(err)
	}
	for _, key := range plan.Keys {
		r := importedKey{Key: key.Config.Key, IDType: string(key.Config.Type), Sequences: map[string]int64{}, There: done[key.Config.Key], DryRun: dry}
		for _, q := range key.Sequences {
			r.Sequences[q.Name] = q.Value
		}
		if err := p.Write(r); err != nil {
			return err
		}
	}
	for _, note := range plan.Notes {
		p.Logger().Warn(note)
	}
	return nil
}

// importedKey is an imported key.
type importedKey struct {
	Key       string           `json:"key"`
	IDType    string           `json:"id_type"`
	Sequences map[string]int64 `json:"sequences,omitempty"` // the numbers after which they continue
	There     bool             `json:"there,omitempty"`     // before
	DryRun    bool             `json:"dry_run,omitempty"`
}

func (i importedKey) Lines() []string {
	state := "imported"
	switch {
	case i.There:
		state = "there already"
	case i.DryRun:
		state = "would be imported"
	}
	line := fmt.Sprintf("%-9s  %s  %s", i.IDType, i.Key, state)
	if value, ok := i.Sequences[i.Key]; ok {
		line += fmt.Sprintf(", continues after %d", value)
	}
	return []string{line}
}

// parameters has the parameters of a configuration, as JSON.
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

// deployedOnly has the parameters of the deployed worker's dialect alone. In that dialect a
// configuration has a name instead of a key.
var deployedOnly = []string{"start", "step", "pattern", "sequence_reset", "epoch", "worker_bits", "sequence_bits"}

// encode returns the parameters as JSON, with the key.
func (p parameters) encode(key string, create bool) ([]byte, error) {
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
	text, _ := json.Marshal(value) // encoding a string does not fail
	return text
}
