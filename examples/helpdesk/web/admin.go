// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"

	"github.com/kazahana-db/kazahana/examples/helpdesk/desk"
)

// Admin is what the operators' side of the service needs.
type Admin struct {
	Registry *desk.Registry
	Token    string                                               // that the operator's requests have
	Ready    func(ctx context.Context) error                      // whether the service can serve
	Backup   func(ctx context.Context) (folder string, err error) // nil where the engine has none
	Metrics  http.Handler
	Studio   http.Handler // a page over the database, which asks for the token itself
	Log      *slog.Logger
}

// NewAdmin returns what serves the operator. Let it listen where tenants cannot reach it. It
// refuses an empty token, which requests without a token have.
func NewAdmin(a Admin) (http.Handler, error) {
	if a.Token == "" {
		return nil, errors.New("the operator's token is empty: anyone could remove tenants")
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.Metrics)
	mux.HandleFunc("GET /healthz", a.health)
	mux.Handle("/studio/", http.StripPrefix("/studio", a.Studio))
	for pattern, h := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /tenants":                a.listTenants,
		"POST /tenants":               a.addTenant,
		"DELETE /tenants/{name}":      a.removeTenant,
		"POST /tenants/{name}/key":    a.rekeyTenant,
		"GET /tenants/{name}/export":  a.exportTenant,
		"DELETE /tenants/{name}/lock": a.unlockTenant,
		"POST /tenants/{name}/import": a.importTenant,
		"POST /backups":               a.backup,
		"POST /verifications":         a.verify,
	} {
		mux.Handle(pattern, a.authenticated(h))
	}
	return mux, nil
}

func (a *Admin) authenticated(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := problemf(http.StatusUnauthorized, "the token is not the operator's")
		if subtle.ConstantTimeCompare([]byte(bearer(r)), []byte(a.Token)) == 1 {
			err = h(w, r)
		}
		if err != nil {
			fail(w, r, a.Log, err)
		}
	})
}

// health tells a load balancer whether to send requests.
func (a *Admin) health(w http.ResponseWriter, r *http.Request) {
	ctx, stop := context.WithTimeout(r.Context(), maxTime)
	defer stop()
	if err := a.Ready(ctx); err != nil {
		fail(w, r, a.Log, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// backup copies the database while it is in use.
func (a *Admin) backup(w http.ResponseWriter, r *http.Request) error {
	if a.Backup == nil {
		return problemf(http.StatusNotImplemented, "the database is a FoundationDB cluster: use fdbbackup")
	}
	folder, err := a.Backup(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, map[string]string{"folder": folder})
	return nil
}

// verify compares all records with their index entries.
func (a *Admin) verify(w http.ResponseWriter, r *http.Request) error {
	n, faults, err := a.Registry.Verify(r.Context())
	if err != nil {
		return err
	}
	texts := []string{}
	for _, fault := range faults {
		texts = append(texts, fault.String())
	}
	writeJSON(w, http.StatusOK, VerificationJSON{n, texts})
	return nil
}

// VerificationJSON is the answer to a verification.
type VerificationJSON struct {
	Records int      `json:"records"`
	Faults  []string `json:"faults"`
}
