// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"
	"net/http"
)

// views are the paths of the page; the script in it shows the view of its path.
var views = []string{"{$}", "directories", "tenants", "types", "records", "record", "indexes", "schema", "changes", "leases", "sizes", "metrics"}

// verb answers a request with a value that becomes JSON, or with an error.
type verb func(r *http.Request) (any, error)

func (h *Handler) routes() http.Handler {
	mux := http.NewServeMux()
	for _, view := range views {
		mux.HandleFunc("GET /"+view, servePage)
	}
	mux.HandleFunc("GET /static/{file...}", serveStatic)
	for path, do := range map[string]verb{
		"info": h.info, "directories": h.directories, "directory": func(r *http.Request) (any, error) { return h.directory(r) }, "sizes": h.sizes, "sets": h.sets, "tenants": h.tenants, "tenant": h.tenant,
		"types": h.types, "schema": h.schema, "history": h.history, "records": h.records, "record": h.record, "indexes": h.indexes,
		"leases": h.listLeases, "decode": h.decode, "metrics": h.metrics, "jobs": h.listJobs,
	} {
		mux.HandleFunc("GET /api/"+path, answer(do))
	}
	mux.HandleFunc("GET /api/changes", h.streamChanges)
	mux.HandleFunc("POST /api/jobs/cancel", answer(h.cancelJob))
	mux.HandleFunc("POST /api/indexes/verify", answer(h.verifyIndexes))
	for path, do := range map[string]verb{
		"record/save": h.saveRecord, "record/delete": h.deleteRecord, "indexes/build": h.buildIndexes, "indexes/repair": h.repairIndexes,
		"indexes/drop": h.dropIndex, "tenant/lock": h.lockTenant, "tenant/unlock": h.unlockTenant, "tenant/remove": h.removeTenant,
	} {
		mux.HandleFunc("POST /api/"+path, answer(h.onlyWriting(do)))
	}
	return mux
}

// onlyWriting refuses the verb unless the page may write.
func (h *Handler) onlyWriting(do verb) verb {
	if h.options.Write {
		return do
	}
	return func(*http.Request) (any, error) {
		return nil, &statusError{http.StatusForbidden, errors.New("the page is open for reading only: start it with --write to change the database")}
	}
}
