// SPDX-License-Identifier: Apache-2.0

package worker

import "slices"

// Routes returns methods and paths of all endpoints but the console's.
func (w *Worker) Routes() []string {
	routes := []string{"GET /metrics"}
	for _, r := range slices.Concat(publicRoutes(), generationRoutes(), adminRoutes()) {
		routes = append(routes, r.method+" "+r.path)
	}
	return routes
}
