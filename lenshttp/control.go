//go:build !lens_noop

package lenshttp

import (
	"net/http"

	"github.com/nemo-lens/lens"
)

// ControlHandler is [lens.ControlHandler], for programs that are built with the tag
// lens_noop as well, which lens itself keeps free of net/http.
func ControlHandler() http.Handler { return lens.ControlHandler() }
