// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
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
		Long:    "List the configurations whose keys begin with the prefix, or all, in the order of their keys.\n",
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
		Long:    "Delete a configuration. A key that is created again continues behind the numbers that it gave before.\n",
		Example: "  idbuilder config delete orders",
	}, func(ctx context.Context, s *service, args []string) error {
		kind, err := s.typeOf(ctx, args[0])
		if err != nil {
			return err
		}
		return s.call(ctx, http.MethodDelete, "/v1/config/"+kind, url.Values{"key": args}, nil, nil)
	})
}
