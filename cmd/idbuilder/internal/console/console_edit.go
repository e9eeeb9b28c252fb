// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// formPage is the data of the page with a form.
type formPage struct {
	*form
	Preview preview
}

// showNew shows the form of a new key, or, without a type, the types to choose from.
func (c *Console) showNew(v *visit) error {
	t := idconfig.Type(v.FormValue("type"))
	switch t {
	case "":
		return v.render(http.StatusOK, page{Name: "new", Title: "New key", Section: "keys"})
	case idconfig.TypeIncrement, idconfig.TypeSnowflake, idconfig.TypeFormatted:
		return v.renderForm(http.StatusOK, newForm(t, c.options.Now()))
	}
	return errNotFound
}

func (c *Console) showEdit(v *visit) error {
	config, _, err := c.worker.Config(v.Context(), v.FormValue("key"))
	if err != nil {
		return err
	}
	return v.renderForm(http.StatusOK, formOf(config))
}

// saveForm saves the form, or does the action of another button in it. It shows a form with
// faults again, with the texts that the admin typed.
func (c *Console) saveForm(v *visit) error {
	f, err := v.readForm()
	if err != nil {
		return err
	}
	if action := v.PostFormValue("action"); action == "preview" || f.changeParts(action) {
		return v.renderForm(http.StatusOK, f)
	}
	f.Focus = ""
	r, err := f.buildRequest(c.options.Now())
	if err == nil && r != nil {
		err = c.saveRequest(v, f, r)
	}
	switch {
	case err != nil:
		return err
	case f.Refusal != nil:
		return v.renderForm(http.StatusConflict, f)
	case len(f.Faults) > 0:
		return v.renderForm(http.StatusBadRequest, f)
	}
	done := "saved"
	if f.New() {
		done = "created"
	}
	v.logAction(done+" the key", f.Key())
	v.redirect("key", url.Values{"key": {f.Key()}, "done": {done}})
	return nil
}

// saveRequest saves the form, unless the key was changed since the form was shown.
func (c *Console) saveRequest(v *visit, f *form, r *idconfig.Request) error {
	err := c.worker.SaveConfig(v.Context(), r)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, idbuilder.ErrChanged):
		return f.takeFaults(err)
	}
	now, _, err := c.worker.Config(v.Context(), r.Key)
	if err != nil {
		return err
	}
	f.Faults = append(f.Faults, &idconfig.ParamError{Param: "version", Reason: fmt.Sprintf("the key was changed by someone else at %s; check it, and save once more to put this form in its place", now.Updated.UTC().Format("15:04:05 UTC"))})
	f.Values.Set("version", strconv.FormatInt(now.Version, 10))
	return nil
}
