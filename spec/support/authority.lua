-- SPDX-License-Identifier: MIT
--- Certificate authorities for TLS specs, their keys made by the openssl command when the spec runs.

local read = require("spec.support.file").read
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local authority = {}
authority.__index = authority

local KEY = { "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256" }

local function openssl(...)
  local child = process.spawn { "openssl", env = process.PLAIN, ... }
  child:close_input()
  local code = child:wait(60)
  if code ~= 0 then error(("openssl %s: %s"):format((...), child:stderr()), 3) end
end

local function request(...)
  local words = { "req" }
  for _, word in ipairs(KEY) do words[#words + 1] = word end
  for _, word in ipairs { ... } do words[#words + 1] = word end
  openssl((table.unpack or unpack)(words)) -- luacheck: ignore 113 143
end

--- An authority with a certificate of its own.
---@return table authority with `.ca`, the path of that certificate
function authority.new(name)
  local self = setmetatable({ folder = folder.new("authority"), name = name }, authority)
  self.ca, self.key = self.folder .. "/ca.pem", self.folder .. "/ca.key"
  request("-x509", "-nodes", "-keyout", self.key, "-out", self.ca, "-days", "2", "-subj", "/CN=" .. name)
  return self
end

--- A certificate that it signs.
---@param name string its subject
---@param password string? encrypts the key
---@param names string? of a server, as openssl wants them: "DNS:localhost,IP:127.0.0.1"
---@return { cert: string, key: string, both: string } paths; `both` is the key and then the certificate in one file
function authority:issue(name, password, names)
  local path = ("%s/%s"):format(self.folder, name)
  local made = { cert = path .. ".pem", key = path .. ".key", both = path .. ".both.pem" }
  local secret = password and { "-passout", "pass:" .. password } or { "-nodes" }
  request("-keyout", made.key, "-out", path .. ".csr", "-subj", "/CN=" .. name, secret[1], secret[2])
  local extensions = assert(io.open(path .. ".ext", "w"))
  extensions:write(names and "subjectAltName=" .. names .. "\n" or "")
  extensions:close()
  openssl("x509", "-req", "-in", path .. ".csr", "-CA", self.ca, "-CAkey", self.key, "-CAcreateserial", "-days", "2",
    "-extfile", path .. ".ext", "-out", made.cert)
  local file = assert(io.open(made.both, "w"))
  file:write(read(made.key), read(made.cert))
  file:close()
  return made
end

return authority
