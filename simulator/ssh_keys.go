package simulator

import (
	"crypto/md5" // #nosec G501 -- the API's fingerprint is MD5; nothing is protected by it
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// SSHKey is a public key for new droplets as the API shows it.
type SSHKey struct {
	ID          int    `json:"id"`
	Fingerprint string `json:"fingerprint"`
	PublicKey   string `json:"public_key"`
	Name        string `json:"name"`
}

// keysPath is the list of SSH keys.
const keysPath = "/v2/account/keys"

func addKeyRoutes(t *router) {
	t.add(http.MethodGet, keysPath, func(c *call) (reply, error) {
		return list(c, "ssh_keys", slices.Collect(c.team.keys.newest()), same[*SSHKey])
	})
	t.add(http.MethodPost, keysPath, createKey)
	t.add(http.MethodGet, keysPath+"/{key}", getKey)
	t.add(http.MethodPut, keysPath+"/{key}", updateKey)
	t.add(http.MethodDelete, keysPath+"/{key}", deleteKey)
}

// findKey finds a key by its id or fingerprint.
func (t *team) findKey(ref string) (*SSHKey, bool) {
	for k := range t.keys.all() {
		if strconv.Itoa(k.ID) == ref || k.Fingerprint == ref {
			return k, true
		}
	}
	return nil, false
}

func (c *call) key() (*SSHKey, error) {
	k, ok := c.team.findKey(c.params["key"])
	if !ok {
		return nil, notFound()
	}
	return k, nil
}

// keyFingerprint is the MD5 of a key in the form of authorized_keys; false means
// that it is none.
func keyFingerprint(public string) (string, bool) {
	fields := strings.Fields(public)
	if len(fields) < 2 {
		return "", false
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	// A key begins with its own type, which has its length in front.
	if err != nil || len(blob) < 4+len(fields[0]) || string(blob[4:4+len(fields[0])]) != fields[0] {
		return "", false
	}
	sum := md5.Sum(blob) // #nosec G401 -- see the import
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = hex.EncodeToString([]byte{b})
	}
	return strings.Join(parts, ":"), true
}

func createKey(c *call) (reply, error) {
	var req struct {
		Name      string `json:"name"`
		PublicKey string `json:"public_key"`
	}
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if req.Name == "" {
		return reply{}, unprocessable("Name can't be blank")
	}
	print, ok := keyFingerprint(req.PublicKey)
	if !ok {
		return reply{}, unprocessable("Key invalid, key should be of the format `type key [comment]`")
	}
	if _, taken := c.team.findKey(print); taken {
		return reply{}, unprocessable("SSH Key is already in use on your account")
	}
	c.s.lastKeyID++
	k := &SSHKey{ID: c.s.lastKeyID, Fingerprint: print, PublicKey: req.PublicKey, Name: req.Name}
	c.team.keys.add(k.ID, k)
	return jsonReply(http.StatusCreated, map[string]any{"ssh_key": k})
}

func getKey(c *call) (reply, error) {
	k, err := c.key()
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"ssh_key": k})
}

// updateKey renames a key; nothing else of it can change.
func updateKey(c *call) (reply, error) {
	k, err := c.key()
	if err != nil {
		return reply{}, err
	}
	var req struct {
		Name string `json:"name"`
	}
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if req.Name == "" {
		return reply{}, unprocessable("Name can't be blank")
	}
	k.Name = req.Name
	return jsonReply(http.StatusOK, map[string]any{"ssh_key": k})
}

func deleteKey(c *call) (reply, error) {
	k, err := c.key()
	if err != nil {
		return reply{}, err
	}
	c.team.keys.remove(k.ID)
	return noContent()
}

// publicKeys finds the keys that a request names by ids or fingerprints.
func (c *call) publicKeys(refs []any) ([]string, error) {
	var keys, unknown []string
	for _, ref := range refs {
		text := fmt.Sprint(ref)
		if number, ok := ref.(float64); ok {
			text = strconv.FormatFloat(number, 'f', -1, 64)
		}
		if k, ok := c.team.findKey(text); ok {
			keys = append(keys, k.PublicKey)
		} else {
			unknown = append(unknown, text)
		}
	}
	if len(unknown) > 0 {
		return nil, unprocessable("%s are invalid key identifiers for Droplet creation.", strings.Join(unknown, ", "))
	}
	return keys, nil
}
