// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/url"

	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// deletePage asks whether to delete a key.
type deletePage struct {
	Config *idconfig.Config
	Typed  string
	Fault  string
}

func (c *Console) showDelete(v *visit) error {
	config, _, err := c.worker.Config(v.Context(), v.FormValue("key"))
	if err != nil {
		return err
	}
	return v.renderDelete(http.StatusOK, deletePage{Config: config})
}

// deleteKey deletes a key whose name the admin typed.
func (c *Console) deleteKey(v *visit) error {
	config, _, err := c.worker.Config(v.Context(), v.PostFormValue("key"))
	if err != nil {
		return err
	}
	if typed := v.PostFormValue("typed"); typed != config.Key {
		return v.renderDelete(http.StatusBadRequest, deletePage{config, typed, "That is not the key. Type it exactly as it is shown above."})
	}
	if err := c.worker.DeleteConfig(v.Context(), config.Key); err != nil && !isNotFound(err) {
		return err
	}
	v.logAction("deleted the key", config.Key)
	v.redirect("keys", url.Values{"done": {"deleted"}})
	return nil
}
