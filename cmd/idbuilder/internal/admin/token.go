// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func tokenCommand(p *program.Program) *cobra.Command {
	return shell.Group("token", "Get and reset tokens",
		keyTokenCommand(p, "get", "/v1/auth/token", "Show the token with which a program makes IDs of a key", `Show the token with which a program makes IDs of a key: the same again for as long as it holds.
It is made from the admin token that asks: give that also where the command works on the store.`),
		keyTokenCommand(p, "reset", "/v1/auth/tokenreset", "Make a new token for a key, and the others invalid", `Make a new token for a key. When the command ends, no server accepts the tokens that the key had.`),
		tokenListCommand(p), tokenAdminCommand(p), tokenWorkerCommand(p))
}

func keyTokenCommand(p *program.Program, use, path, short, long string) *cobra.Command {
	var at serviceFlags
	cmd := &cobra.Command{
		Use: use + " key", Short: short, Args: shell.Arguments(cobra.ExactArgs(1)), Long: long + "\n" + aboutService,
		Example: "  idbuilder token " + use + " orders --server http://localhost:8080 --token-file admin-token",
		RunE: func(cmd *cobra.Command, args []string) error {
			if t, err := at.readToken(); err != nil || t == "" {
				return errors.Join(err, shell.Misuse(cmd, errors.New("give the admin token, with --token-file or "+tokenVariable)))
			}
			return at.withService(p, cmd, func(ctx context.Context, s *service) error {
				var t keyToken
				if err := s.call(ctx, http.MethodGet, path, url.Values{"key": args}, nil, &t.Token); err != nil {
					return err
				}
				return p.Write(t)
			})
		},
	}
	at.addTo(cmd)
	return cmd
}

// keyToken is a token with its text.
type keyToken struct{ api.Token }

func (t keyToken) Lines() []string { return []string{t.Token.Token} }

func tokenAdminCommand(p *program.Program) *cobra.Command {
	return roleCommand(p, role{
		name: "admin", short: "Make the first admin token, or a new one",
		long: `Make an admin token, if there is none yet. With --reset make a new one: when the command ends, no
server accepts the one before. Key tokens hold on. A token in the setting auth.admin_token stays valid
for as long as it is there.`,
		first: (*token.Authority).MakeAdmin, reset: (*token.Authority).ResetAdmin,
		show: func(text string) shell.Result { return adminToken{text} },
	})
}

func tokenWorkerCommand(p *program.Program) *cobra.Command {
	return roleCommand(p, role{
		name: "worker", short: "Make the token with which workers register, or a new one",
		long: `Make the token with which workers register with controllers, if there is none yet: the setting
controller.token of workers. It permits that alone: no IDs, no configurations, no tokens. With --reset make
a new one: when the command ends, no controller accepts the one before.`,
		first: (*token.Authority).MakeWorker, reset: (*token.Authority).ResetWorker,
		show: func(text string) shell.Result { return workerToken{text} },
	})
}

// role is what tokens permit that are for no key.
type role struct {
	name, short, long string
	first, reset      func(*token.Authority, context.Context) (string, error)
	show              func(text string) shell.Result
}

// roleCommand makes the first token of a role, or a new one.
func roleCommand(p *program.Program, r role) *cobra.Command {
	var reset bool
	cmd := &cobra.Command{
		Use: r.name, Short: r.short, Args: shell.Arguments(cobra.NoArgs),
		Long: r.long + `

The command works on the store that the settings name; the embedded engine can then be used by no
server.`,
		Example: "  idbuilder token " + r.name + " --reset --config idbuilder.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var at serviceFlags
			return at.withStore(cmd.Context(), p, cmd, "no request is made with this", func(ctx context.Context, s *service) error {
				make := r.first
				if reset {
					make = r.reset
				}
				text, err := make(s.direct.Tokens(), ctx)
				if err == nil && text == "" {
					err = fmt.Errorf("there is a token of the role %s; --reset makes a new one, and the old one invalid", r.name)
				}
				if text != "" { // after an error, too: it may be the only one that is valid
					err = errors.Join(err, p.Write(r.show(text)))
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&reset, "reset", false, "make a new token, and the old one invalid")
	return cmd
}

type workerToken struct {
	Token string `json:"worker_token"`
}

func (t workerToken) Lines() []string { return []string{t.Token} }

type adminToken struct {
	Token string `json:"admin_token"`
}

func (t adminToken) Lines() []string { return []string{t.Token} }

func tokenListCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tokens that are stored, without their texts", Args: shell.Arguments(cobra.NoArgs),
		Long: `List the tokens that are stored and have not expired, without their texts, in the order of their keys. The
command works on the store that the settings name; the embedded engine can then be used by no server.`,
		Example: "  idbuilder token list --config idbuilder.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var at serviceFlags
			return at.withStore(cmd.Context(), p, cmd, "", func(ctx context.Context, s *service) error {
				list, err := s.direct.Tokens().List(ctx)
				for _, t := range list {
					if err := p.Write(storedToken{t.Key, t.Key == "" && !t.Worker, t.Worker, t.Created, t.Expires}); err != nil {
						return err
					}
				}
				return err
			})
		},
	}
}

// storedToken is a line of the list.
type storedToken struct {
	Key     string    `json:"key,omitempty"`
	Admin   bool      `json:"admin,omitempty"`
	Worker  bool      `json:"worker,omitempty"`
	Created time.Time `json:"created_at"`
	Expires time.Time `json:"expires_at,omitzero"`
}

func (t storedToken) Lines() []string {
	of := "key " + shell.Word(t.Key)
	switch {
	case t.Admin:
		of = "admin"
	case t.Worker:
		of = "worker"
	}
	line := fmt.Sprintf("%s  made %s", of, t.Created.UTC().Format(time.RFC3339))
	if !t.Expires.IsZero() {
		line += "  expires " + t.Expires.UTC().Format(time.RFC3339)
	}
	return []string{line}
}
