// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/internal/shell"
)

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
