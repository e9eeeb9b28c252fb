// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func workersCommand(p *program.Program) *cobra.Command {
	var at serviceFlags
	cmd := &cobra.Command{
		Use: "workers", Short: "List the workers that a controller knows", Args: shell.Arguments(cobra.NoArgs),
		Example: "  idbuilder workers --server https://controller.example.com:8090 --token-file admin-token",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !at.namesServer() {
				return shell.Misuse(cmd, errors.New("name a controller, with --server or "+serverVariable))
			}
			return at.withService(p, cmd, func(ctx context.Context, s *service) error {
				var data struct {
					Items []parameters `json:"items"`
				}
				if err := s.call(ctx, http.MethodGet, controller.WorkersPath, nil, nil, &data); err != nil {
					return err
				}
				for _, w := range data.Items {
					if err := p.Write(w); err != nil {
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
