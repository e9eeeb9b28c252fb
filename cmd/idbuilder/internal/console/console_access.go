// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"net/http"

	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// accessPage is the data of the page of tokens.
type accessPage struct {
	GlobalKey string
	Token     *token.Token // that was asked for
}

func (c *Console) showAccess(v *visit) error { return v.renderAccess(nil, "") }

// resetPage asks whether to reset a token.
type resetPage struct {
	Key    string
	Global bool
}

func (c *Console) showReset(v *visit) error {
	key := v.FormValue("key")
	if key != token.GlobalKey {
		if _, _, err := c.worker.Config(v.Context(), key); err != nil {
			return err
		}
	}
	return v.render(http.StatusOK, page{Name: "reset", Title: "Reset the token", Section: "keys", Data: resetPage{key, key == token.GlobalKey}})
}

// resetNotice says that a token was reset.
const (
	resetNotice       = "The token was reset. The old one is invalid on all workers."
	unconfirmedNotice = "The token was reset, but other workers may accept the old one for a minute. Reset it again to end that."
)

// resetToken makes a new token, and shows it in this answer only.
func (c *Console) resetToken(v *visit) error {
	key := v.PostFormValue("key")
	if key != token.GlobalKey {
		if _, _, err := c.worker.Config(v.Context(), key); err != nil {
			return err
		}
	}
	t, err := c.worker.Tokens().Reset(v.Context(), v.admin, key)
	notice := resetNotice
	if errors.Is(err, revision.ErrUnconfirmed) {
		notice, err = unconfirmedNotice, nil
	}
	if err != nil {
		return err
	}
	v.logAction("reset the token", key)
	if key == token.GlobalKey {
		return v.renderAccess(&t, notice)
	}
	p, err := c.keyPage(v, key)
	if err != nil {
		return err
	}
	p.Token = &t
	return v.renderKey(http.StatusOK, p, notice)
}
