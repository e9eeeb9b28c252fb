// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"net/http"

	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// keyJSON is a tenant with its key, which is shown once.
type keyJSON struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

func (a *Admin) listTenants(w http.ResponseWriter, r *http.Request) error {
	names := []string{}
	for name, err := range a.Registry.Names(r.Context()) {
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	writeJSON(w, http.StatusOK, names)
	return nil
}

func (a *Admin) addTenant(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	var body struct {
		Name string `json:"name"`
	}
	if err := readJSON(r, &body); err != nil {
		return err
	}
	key, err := a.Registry.Add(r.Context(), body.Name)
	return writeKey(w, http.StatusCreated, body.Name, key, err)
}

func (a *Admin) rekeyTenant(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	key, err := a.Registry.Rekey(r.Context(), name)
	return writeKey(w, http.StatusOK, name, key, err)
}

func writeKey(w http.ResponseWriter, status int, name, key string, err error) error {
	if err == nil {
		writeJSON(w, status, keyJSON{name, key})
	}
	return err
}

func (a *Admin) removeTenant(w http.ResponseWriter, r *http.Request) error {
	if err := a.Registry.Remove(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// importTenant makes a tenant of a stream.
func (a *Admin) importTenant(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	key, err := a.Registry.Import(r.Context(), name, r.Body)
	if errors.Is(err, tenants.ErrStream) {
		return problemf(http.StatusUnprocessableEntity, "%v", err)
	}
	return writeKey(w, http.StatusCreated, name, key, err)
}
