@echo off
rem Packer on Windows runs this program as ansible-playbook (variable ansible_command). It runs Ansible in WSL.
setlocal
rem WSL hands over only the variables that are listed here.
set "WSLENV=%WSLENV%:WINKUBE_BUILD_PASSWORD/u:WINKUBE_BUILD_VARIABLES/u:http_proxy/u:https_proxy/u:ftp_proxy/u:no_proxy/u:HTTP_PROXY/u:HTTPS_PROXY/u:FTP_PROXY/u:NO_PROXY/u"
set "script="
for /f "usebackq delims=" %%P in (`wsl.exe --exec wslpath -u "%~dp0ansible_playbook.py"`) do set "script=%%P"
if not defined script echo Expected a Linux distribution in WSL, got none. Run: wsl --install 1>&2
if not defined script exit /b 1
wsl.exe --exec python3 "%script%" %*
exit /b %ERRORLEVEL%
