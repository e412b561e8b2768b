//go:build !unix

package plan

const openFlags = 0
